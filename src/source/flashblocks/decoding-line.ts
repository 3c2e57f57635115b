import type { Awaitable } from '../../primitives/hex.ts';
import { type Decoded, type DecodeLimits, decodeMessage, type WireMessage } from './decode.ts';

/** Messages that may wait to be inflated before no more are read. */
const MAX_WAITING = 8;

/**
 * Decodes the messages of one connection in order. Most are decoded at once; one that has to be inflated is so by
 * another thread, and those behind it wait. When many wait, the peer has to wait too.
 */
export class DecodingLine {
  readonly #limits: DecodeLimits;
  readonly #socket: { pause(): void; resume(): void };
  readonly #take: (decoded: Decoded) => void;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(
    limits: DecodeLimits,
    socket: { pause(): void; resume(): void },
    take: (decoded: Decoded) => void,
  ) {
    this.#limits = limits;
    this.#socket = socket;
    this.#take = take;
  }

  /** Takes a message in; it is passed over if nobody wants it any more when its turn comes. */
  push(message: WireMessage, isWanted: () => boolean): void {
    if (this.#waiting > 0) {
      this.#wait(() => (isWanted() ? decodeMessage(message, this.#limits) : undefined));
      return;
    }
    const decoded = decodeMessage(message, this.#limits);
    if (decoded instanceof Promise) this.#wait(() => decoded);
    else this.#take(decoded);
  }

  #wait(decode: () => Awaitable<Decoded | undefined>): void {
    this.#waiting += 1;
    if (this.#waiting === MAX_WAITING) this.#socket.pause();
    this.#last = this.#last.then(async () => {
      const decoded = await decode();
      this.#waiting -= 1;
      if (this.#waiting === MAX_WAITING - 1) this.#socket.resume();
      if (decoded !== undefined) this.#take(decoded);
    });
  }
}
