import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../limits/client-address.ts';
import type { ClientMemory, HeldBytes, Holder } from '../limits/client-memory.ts';
import { addressOf } from '../limits/connection.ts';

/** What an idle connection of node:http costs, and a request that waits for its turn, measured. */
const CONNECTION_BYTES = 16_384;
const WAITING_BYTES = 4_096;
/** Requests that may wait for the answers before them. Nobody who means well sends more ahead. */
const MAX_WAITING = 128;

/**
 * One connection of node:http. However many requests come at once, they are served one after another, each when the
 * client has taken the answer before it: else a few kilobytes of requests would have us hold as many answers.
 */
export class HttpConnection implements Holder {
  readonly socket: Socket;
  /** The address at the other end. */
  readonly peer: string;
  readonly client: string;
  readonly #held: HeldBytes;
  readonly #waiting: { readonly response: ServerResponse; readonly serve: () => void }[] = [];
  #isServing = false;
  #bodyBytes = 0;

  constructor(socket: Socket, memory: ClientMemory) {
    this.socket = socket;
    this.peer = addressOf(socket);
    this.client = networkOf(this.peer);
    this.#held = memory.hold(this);
    socket.once('close', () => this.#held.release());
  }

  get heldBytes(): number {
    return CONNECTION_BYTES + this.#waiting.length * WAITING_BYTES + this.#bodyBytes;
  }

  cut(): void {
    this.socket.destroy();
  }

  /** The connection becomes something else, which counts for itself. */
  leave(): void {
    this.#held.release();
  }

  /** Serves a request now, or after those before it. */
  take(response: ServerResponse, serve: () => void): void {
    if (!this.#isServing) {
      this.#serve(response, serve);
      return;
    }
    if (this.#waiting.length >= MAX_WAITING) {
      this.socket.destroy();
      return;
    }
    this.#waiting.push({ response, serve });
    this.#held.update();
  }

  /** Says how much of the body of the request being served is here. */
  hasRead(bytes: number): void {
    this.#bodyBytes = bytes;
    this.#held.update();
  }

  /** Says that an answer has been written. */
  hasWritten(): void {
    this.#held.update();
  }

  #serve(response: ServerResponse, serve: () => void): void {
    this.#isServing = true;
    response.once('close', () => {
      this.#isServing = false;
      this.#bodyBytes = 0;
      const next = this.#waiting.shift();
      if (next !== undefined && !this.socket.destroyed) this.#serve(next.response, next.serve);
      this.#held.update();
    });
    serve();
  }
}
