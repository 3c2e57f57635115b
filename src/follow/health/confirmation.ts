import type { BlockRef } from '../../chain/outcome.ts';

/**
 * When an upstream last confirmed our head: named it, or gave us the block that became it. An upstream that answers, but
 * with nothing that can be followed, looks well in every other way.
 */
export class Confirmation {
  readonly #now: () => number;
  #head: BlockRef | undefined;
  #at: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#at = now();
  }

  get ageMs(): number {
    return this.#now() - this.#at;
  }

  /** The copy has moved to this block, which an upstream gave us. */
  moved(head: BlockRef): void {
    this.#head = head;
    this.#at = this.#now();
  }

  /** An upstream says that this is its head. Naming an older block, or ours under a false number, says nothing about ours. */
  named({ number, hash }: BlockRef): void {
    if (hash === this.#head?.hash && number === this.#head.number) this.#at = this.#now();
  }
}
