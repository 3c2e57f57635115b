import { once } from 'node:events';
import { WebSocket } from 'ws';
import { sendText } from '../support/servers/rpc-client.ts';

/** Asks one node: over HTTP, and over one WebSocket connection what needs one. */
export class Client implements AsyncDisposable {
  readonly #url: string;
  #socket: WebSocket | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  ask(request: string): Promise<unknown> {
    return /"eth_(?:un)?subscribe"/.test(request)
      ? this.#overWebSocket(request)
      : sendText(this.#url, request);
  }

  async #overWebSocket(request: string): Promise<unknown> {
    if (this.#socket === undefined) {
      this.#socket = new WebSocket(this.#url.replace('http', 'ws'));
      await once(this.#socket, 'open');
    }
    const answer = once(this.#socket, 'message', { signal: AbortSignal.timeout(10_000) });
    this.#socket.send(request);
    return JSON.parse(String((await answer)[0])) as unknown;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#socket === undefined) return;
    this.#socket.close();
    await once(this.#socket, 'close');
  }
}
