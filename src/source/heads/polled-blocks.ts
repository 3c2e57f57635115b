import type { Hex } from '../../primitives/hex.ts';
import type { JsonObject, UpstreamHead } from '../interface.ts';

/** Looks, of the last ones, that must find the block after the one before for whole blocks to be asked for. */
const WORTH = 0.5;
/** What one look counts for among those before. */
const WEIGHT = 0.25;

/**
 * Whole blocks that come with looks at one upstream's head. Where most looks find the next block, it need not be asked for
 * again; where few do, whole blocks would be sent in vain.
 */
export class PolledBlocks {
  #share = 0;
  #last: UpstreamHead | undefined;
  #held: { readonly hash: Hex; readonly block: JsonObject } | undefined;

  /** Whether the next look should ask for the whole block. */
  get isWorth(): boolean {
    return this.#share >= WORTH;
  }

  /** Takes note of what a look found. */
  saw(head: UpstreamHead, block: JsonObject | undefined): void {
    const last = this.#last;
    if (last !== undefined) {
      const isNext = head.number === last.number + 1 ? 1 : 0;
      this.#share += (isNext - this.#share) * WEIGHT;
    }
    this.#last = head;
    if (block !== undefined && head.hash !== last?.hash) this.#held = { hash: head.hash, block };
  }

  /** Such answers are refused, or too long: heads alone are asked for until blocks seem worth it again. */
  failed(): void {
    this.#share = 0;
  }

  /** The block with this hash, if it came last; it is given out once, so that one that proves false is asked for anew. */
  take(hash: Hex): JsonObject | undefined {
    if (this.#held?.hash !== hash) return undefined;
    const { block } = this.#held;
    this.#held = undefined;
    return block;
  }
}
