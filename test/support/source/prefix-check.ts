import type { Hex } from '../../../src/primitives/hex.ts';
import type { FlashblockEvent } from '../../../src/source/flashblocks/events.ts';
import type { Flashblock } from '../../../src/source/flashblocks/flashblock.ts';

/** Follows the events as a consumer would, and notes every one that is not the next step from those before. */
export class PrefixCheck {
  readonly problems: string[] = [];
  readonly passed: Flashblock[] = [];
  readonly #parentOf: (number: number) => Hex | undefined;
  #pending: Flashblock[] = [];

  /** `parentOf` knows the canonical block that one of this number stands on. */
  constructor(parentOf: (number: number) => Hex | undefined) {
    this.#parentOf = parentOf;
  }

  /** Flashblocks of which the pre-confirmed state consists. */
  get pending(): number {
    return this.#pending.length;
  }

  take(event: FlashblockEvent): void {
    if (event.kind === 'dropped') this.#keep((number) => number < event.from);
    else if (event.kind === 'confirmed') this.#keep((number) => number > event.number);
    else this.#extend(event.flashblock);
  }

  #extend(flashblock: Flashblock): void {
    const { index, base, blockNumber, payloadId, digest } = flashblock;
    const say = (what: string): void => void this.problems.push(`${blockNumber}:${index} ${what}`);
    // What was dropped may begin again, on what was sealed meanwhile.
    if (this.#pending.some((other) => other.digest === digest)) say('came twice');
    this.passed.push(flashblock);
    if (index === 0) this.#keep((number) => number < blockNumber);
    const last = this.#pending.at(-1);
    if (index === 0) {
      // A block without a hash is what the one above it calls it.
      const parent = last === undefined ? this.#parentOf(blockNumber) : last.diff.blockHash;
      if (parent !== undefined && base?.parentHash !== parent) say('stands on another block');
      if (last !== undefined && last.blockNumber !== blockNumber - 1) say('leaves a block out');
    } else if (last?.payloadId !== payloadId || last.index !== index - 1) say('is not the next');
    this.#pending.push(flashblock);
  }

  #keep(which: (number: number) => boolean): void {
    this.#pending = this.#pending.filter(({ blockNumber }) => which(blockNumber));
  }
}
