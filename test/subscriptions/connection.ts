import { WebSocket } from 'ws';
import type { RpcError } from '../support/servers/rpc-client.ts';

interface Message {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: RpcError;
  readonly params?: { readonly subscription: string; readonly result: unknown };
}

/** Hears what one subscription brings. */
export type Deliver = (result: unknown) => void;

const openDeadlineMs = 20_000;

/** One WebSocket connection of a client: requests, and subscriptions by what hears them. */
export class Connection {
  readonly socket: WebSocket;
  /** The code that it was closed with. */
  readonly closed: Promise<number>;
  /** Notifications that belong to no subscription of it. */
  strays = 0;
  readonly #answers = new Map<number, (message: Message) => void>();
  readonly #subscriptions = new Map<string, Deliver>();
  #ids = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on('close', (code) => {
        for (const answer of this.#answers.values()) answer({ error: { code, message: 'closed' } });
        this.#answers.clear();
        resolve(code);
      });
    });
    // The close that follows says what is to be known.
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString('utf8')) as Message));
  }

  static async open(url: string): Promise<Connection> {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), {
      perMessageDeflate: false,
      handshakeTimeout: openDeadlineMs,
    });
    const connection = new Connection(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return connection;
  }

  async ask<T>(method: string, params: readonly unknown[] = []): Promise<T> {
    return (await this.#request(method, params)) as T;
  }

  /** Subscribes; not even the first message is missed. */
  async subscribe(params: readonly unknown[], deliver: Deliver): Promise<void> {
    await this.#request('eth_subscribe', params, (id) => this.#subscriptions.set(String(id), deliver));
  }

  /** Ends it without a word. */
  destroy(): void {
    this.#subscriptions.clear();
    this.socket.terminate();
  }

  #request(method: string, params: readonly unknown[], onResult?: Deliver): Promise<unknown> {
    this.#ids += 1;
    const id = this.#ids;
    return new Promise((resolve, reject) => {
      this.#answers.set(id, ({ result, error }) => {
        if (error !== undefined) {
          reject(new Error(`${method} ${JSON.stringify(params)}: ${error.code} ${error.message}`));
          return;
        }
        onResult?.(result);
        resolve(result);
      });
      this.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }), (error) => {
        if (error !== undefined && error !== null && this.#answers.delete(id)) reject(error);
      });
    });
  }

  #take({ id, params, ...rest }: Message): void {
    if (id !== undefined) {
      const answer = this.#answers.get(id);
      this.#answers.delete(id);
      answer?.(rest);
      return;
    }
    const deliver = this.#subscriptions.get(params?.subscription ?? '');
    if (deliver === undefined) this.strays += 1;
    else deliver(params?.result);
  }
}
