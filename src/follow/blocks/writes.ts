import type { BlockRef, EncodedOutcome } from '../../chain/outcome.ts';

/** Blocks that took so long to execute are not kept from readers until there are more of them. */
const UNWRITTEN_MS = 250;

/** The writes of one move: one at a time, in order, while what stands on them is executed. */
export class Writes {
  readonly #write: (outcomes: readonly EncodedOutcome[]) => Promise<BlockRef>;
  #writing: Promise<BlockRef>;
  #written: BlockRef;
  #isIdle = true;
  #begun = performance.now();

  /** `write` gives the head of the store then, which is `base` before. */
  constructor(base: BlockRef, write: (outcomes: readonly EncodedOutcome[]) => Promise<BlockRef>) {
    this.#write = write;
    this.#written = base;
    this.#writing = Promise.resolve(base);
  }

  /** A block that is in the store, and the last one but for what is being written. */
  get written(): BlockRef {
    return this.#written;
  }

  /** Whether what was executed since the last write began can be written at once, and has waited for long enough. */
  get isDue(): boolean {
    return this.#isIdle && performance.now() - this.#begun >= UNWRITTEN_MS;
  }

  /** Begins to write, once all before is written. Whether it fails is heard when the next ones are to be written, or at the end. */
  async begin(outcomes: readonly EncodedOutcome[]): Promise<void> {
    this.#written = await this.#writing;
    this.#isIdle = false;
    this.#begun = performance.now();
    this.#writing = this.#write(outcomes);
    this.#writing.then(
      () => {
        this.#isIdle = true;
      },
      () => {},
    );
  }

  /** Resolves once all is written; fails if something could not be. */
  async end(): Promise<void> {
    await this.#writing;
  }
}
