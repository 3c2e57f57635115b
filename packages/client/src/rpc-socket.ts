/** An error that a node answered with. */
export class SocketRpcError extends Error {
  override readonly name = 'SocketRpcError';
  readonly code: number;

  constructor(method: string, { code, message }: { readonly code: number; readonly message: string }) {
    super(`${method}: ${message} (${code})`);
    this.code = code;
  }
}

/** The connection is gone. 4008: too slow; 4009: resume; 1001: the node shuts down. */
export class SocketClosedError extends Error {
  override readonly name = 'SocketClosedError';
  readonly code: number;

  constructor(code: number, reason: string) {
    super(`the connection was closed with ${code}${reason === '' ? '' : `: ${reason}`}`);
    this.code = code;
  }
}

interface Message {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
  readonly params?: Notification & { readonly subscription: string };
}

/** What a subscription brings; `point` where it was asked for. */
export interface Notification {
  readonly result: unknown;
  readonly point?: string;
}

interface Waiting {
  readonly answer: (message: Message) => void;
  readonly fail: (error: Error) => void;
}

const openMs = 10_000;
const answerMs = 15_000;

/** One WebSocket connection: requests, and subscriptions of which not even the first message is missed. */
export class RpcSocket {
  /** Never rejects. */
  readonly closed: Promise<SocketClosedError>;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #subscriptions = new Map<string, (notification: Notification) => void>();
  #ids = 0;
  #error: SocketClosedError | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => {
      const end = (code: number, reason: string): void => {
        this.#error ??= new SocketClosedError(code, reason);
        this.#subscriptions.clear();
        for (const { fail } of this.#waiting.values()) fail(this.#error);
        this.#waiting.clear();
        resolve(this.#error);
      };
      socket.addEventListener('close', ({ code, reason }) => end(code, reason));
      socket.addEventListener('error', () => end(1006, ''));
    });
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data)) as Message));
  }

  static async open(url: string): Promise<RpcSocket> {
    const socket = new WebSocket(url);
    const opened = new RpcSocket(socket);
    const { promise: open, resolve } = promised<undefined>();
    socket.addEventListener('open', () => resolve(undefined));
    const timer = setTimeout(() => opened.close(), openMs);
    const failed = await Promise.race([open, opened.closed]);
    clearTimeout(timer);
    if (failed !== undefined) throw failed;
    return opened;
  }

  async request<T>(method: string, params: readonly unknown[] = []): Promise<T> {
    return (await this.#ask(method, params, () => undefined)) as T;
  }

  async subscribe(params: readonly unknown[], deliver: (notification: Notification) => void): Promise<void> {
    await this.#ask('eth_subscribe', params, (id) => this.#subscriptions.set(String(id), deliver));
  }

  /** Ends it; nothing is delivered any more. */
  close(): void {
    this.#subscriptions.clear();
    this.#socket.close();
    // A peer that does not answer is not waited for.
    this.#socket.dispatchEvent(new Event('error'));
  }

  #ask(method: string, params: readonly unknown[], onResult: (result: unknown) => void): Promise<unknown> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    this.#ids += 1;
    const id = this.#ids;
    const { promise, resolve, reject } = promised<unknown>();
    const timer = setTimeout(() => this.close(), answerMs);
    this.#waiting.set(id, {
      answer: ({ result, error }) => {
        clearTimeout(timer);
        if (error !== undefined) {
          reject(new SocketRpcError(method, error));
          return;
        }
        // At once: the first message may be in the same piece.
        onResult(result);
        resolve(result);
      },
      fail: (error) => {
        clearTimeout(timer);
        reject(error);
      },
    });
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return promise;
  }

  #take(message: Message): void {
    if (message.id !== undefined) {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      waiting?.answer(message);
      return;
    }
    if (message.params !== undefined) this.#subscriptions.get(message.params.subscription)?.(message.params);
  }
}

interface Promised<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

function promised<T>(): Promised<T> {
  let [resolve, reject]: [Promised<T>['resolve'], Promised<T>['reject']] = [() => {}, () => {}];
  const promise = new Promise<T>((onResult, onError) => {
    [resolve, reject] = [onResult, onError];
  });
  return { promise, resolve, reject };
}
