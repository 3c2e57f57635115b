import type { Awaitable } from '../../primitives/hex.ts';
import type { WireMessage } from './decode.ts';

/** Messages that may wait to be inflated before no more are read. */
const MAX_WAITING = 8;

/**
 * Decodes the messages of one connection in order. Most are decoded at once; one that has to be inflated is so by
 * another thread, and those behind it wait. When many wait, the peer has to wait too.
 */
export class DecodingLine<T> {
  readonly #decode: (message: WireMessage) => Awaitable<T>;
  readonly #socket: { pause(): void; resume(): void };
  readonly #take: (decoded: T) => void;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(
    decode: (message: WireMessage) => Awaitable<T>,
    socket: { pause(): void; resume(): void },
    take: (decoded: T) => void,
  ) {
    this.#decode = decode;
    this.#socket = socket;
    this.#take = take;
  }

  /** Takes a message in; it is passed over if nobody wants it any more when its turn comes. */
  push(message: WireMessage, isWanted: () => boolean): void {
    if (this.#waiting > 0) {
      this.#wait(() => (isWanted() ? this.#decode(message) : undefined));
      return;
    }
    const decoded = this.#decode(message);
    if (decoded instanceof Promise) this.#wait(() => decoded);
    else this.#take(decoded);
  }

  #wait(decode: () => Awaitable<T | undefined>): void {
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
