import { WebSocket } from 'ws';
import type { Clock } from '../clock.ts';
import type { Endpoint } from './endpoint.ts';

/** How long a peer may take to say goodbye. */
const CLOSE_MS = 2_000;

/**
 * A WebSocket to somebody who may be broken or hostile: messages are bounded before they are gathered or inflated, and
 * its end does not depend on the peer. Node's own client has neither a limit that can be set nor a way to cut a
 * connection whose peer does not take part in closing it.
 */
export class ClientSocket {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  /** Why it could not be opened, or broke. */
  #failure: Error | undefined;

  constructor(endpoint: Endpoint, maxMessageBytes: number, clock: Clock) {
    const { url, headers } = endpoint;
    this.#clock = clock;
    this.#socket = new WebSocket(url, { headers, maxPayload: maxMessageBytes });
    this.#socket.on('error', (error) => {
      this.#failure ??= error;
      // It would wait for the goodbye of a peer that has just broken the rules.
      if (this.#socket.readyState !== WebSocket.CONNECTING) this.#socket.terminate();
    });
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  onOpen(listener: () => void): void {
    this.#socket.on('open', listener);
  }

  onMessage(listener: (data: Buffer, isBinary: boolean) => void): void {
    // Fragments are put together, and bytes come as they are, as nothing else is asked for.
    this.#socket.on('message', (data, isBinary) => listener(data as Buffer, isBinary));
  }

  /** Told once, with why if that is known, and whether it was for a message that is too large. */
  onClose(listener: (reason: string, isTooLarge: boolean) => void): void {
    this.#socket.on('close', (code) => {
      const { message, code: name } = (this.#failure ?? {}) as NodeJS.ErrnoException;
      const why = message === undefined ? '' : `: ${message}`;
      listener(`no WebSocket connection (${code})${why}`, name === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH');
    });
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  /** Reads nothing until `resume`: the peer has to wait. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Says goodbye, and cuts the connection if the peer does not. */
  close(): void {
    const cancel = this.#clock.after(CLOSE_MS, () => this.#socket.terminate());
    this.#socket.once('close', cancel);
    // What a peer has to say is not waited for: one that is not read would not get to its own goodbye.
    this.#socket.resume();
    this.#socket.close();
  }

  /** Cuts the connection. */
  terminate(): void {
    this.#socket.terminate();
  }
}
