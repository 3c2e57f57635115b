import { once } from 'node:events';
import { type RawData, WebSocket } from 'ws';
import { now } from './clock.ts';

/** Opens a WebSocket and subscribes; messages go to `onMessage` from the first on. */
export async function subscribe(
  url: string,
  params: readonly unknown[],
  onMessage: (message: Buffer) => void,
): Promise<WebSocket> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), { perMessageDeflate: false });
  const answered = Promise.withResolvers<void>();
  let subscribed = false;
  socket.on('message', (data: RawData) => {
    const message = data as Buffer;
    if (subscribed) {
      onMessage(message);
      return;
    }
    const { result, error } = JSON.parse(message.toString()) as { result?: unknown; error?: unknown };
    subscribed = typeof result === 'string';
    if (subscribed) answered.resolve();
    else answered.reject(new Error(`eth_subscribe failed: ${JSON.stringify(error)}`));
  });
  socket.on('error', (error) => answered.reject(error));
  socket.on('close', (code) => answered.reject(new Error(`closed with ${code}`)));
  answered.promise.catch(() => {});
  await Promise.race([once(socket, 'open'), answered.promise]);
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params }));
  await answered.promise;
  return socket;
}

/** One subscriber to the logs of a contract. */
export class PendingLogs implements AsyncDisposable {
  readonly #socket: WebSocket;
  #awaited: { readonly mark: Buffer; readonly resolve: (at: number) => void } | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static async subscribe(url: string, address: string): Promise<PendingLogs> {
    let take: (message: Buffer) => void = () => {};
    const params = ['pendingLogs', { address }];
    const logs = new PendingLogs(await subscribe(url, params, (message) => take(message)));
    take = (message) => logs.#take(message);
    return logs;
  }

  /** When a message with the log of a transaction came. */
  saw(hash: string): Promise<number> {
    return new Promise((resolve) => {
      this.#awaited = { mark: Buffer.from(hash), resolve };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }

  #take(message: Buffer): void {
    if (this.#awaited === undefined || !message.includes(this.#awaited.mark)) return;
    this.#awaited.resolve(now());
    this.#awaited = undefined;
  }
}
