import type { Outcome } from '../../chain/outcome.ts';
import type { SlotKey, StateKey } from '../../chain/state-key.ts';
import { BEACON_ROOTS, BLOCK_HASHES } from '../../chain/system-contracts.ts';
import { fromHex } from '../../primitives/hex.ts';

/** Contracts that each block writes at its start, in rings of slots. */
const ROOTS = fromHex(BEACON_ROOTS);
const HASHES = fromHex(BLOCK_HASHES);
const RING = 8_191;
/** Blocks whose slots are read together: with two slots a time and one a number, it is about one batch of calls. */
const BLOCKS_AHEAD = 32;
/** Read again when no more than these are left: some blocks may be pre-confirmed before the next is sealed. */
const MARGIN = 6;

type Block = Pick<Outcome, 'number' | 'timestamp' | 'diff'>;

/**
 * What the next blocks will write at their start, if time goes on as it did. A ring comes round to a slot that nobody has
 * read for hours: read ahead, no block has to wait for it; read for many blocks at once, it costs hardly a request.
 */
export class SlotsAhead {
  /** The last blocks, oldest first. */
  #recent: { readonly number: number; readonly timestamp: number }[] = [];
  /** The last block and time that were given out, and the time between two of those. */
  #number = 0;
  #time = 0;
  #step = 1;
  /** Whether the last block wrote to these contracts. */
  #hasRoots = false;
  #hasHashes = false;

  /** Takes note of what a block wrote. */
  learn({ diff }: Pick<Block, 'diff'>): void {
    const isWritten = (contract: Uint8Array): boolean =>
      diff.slots.some(([address]) => Buffer.compare(address, contract) === 0);
    [this.#hasRoots, this.#hasHashes] = [isWritten(ROOTS), isWritten(HASHES)];
  }

  /** What a block writes at its start, if it does what the last one did. */
  of({ number, timestamp }: Pick<Block, 'number' | 'timestamp'>): readonly SlotKey[] {
    const place = timestamp % RING;
    return [
      // Block N writes the hash of its parent.
      ...(this.#hasHashes ? [slotOf(HASHES, (number - 1) % RING)] : []),
      ...(this.#hasRoots ? [slotOf(ROOTS, place), slotOf(ROOTS, place + RING)] : []),
    ];
  }

  /** What to read now that this block is the head; mostly nothing. */
  due({ number, timestamp, diff }: Block): readonly StateKey[] {
    this.#note(number, timestamp);
    this.learn({ diff });
    const [hasRoots, hasHashes] = [this.#hasRoots, this.#hasHashes];
    const pace = this.#pace();
    if (pace === undefined) return [];
    const { step, secondsPerBlock } = pace;
    // Times that lie between those which were given out have not been read: all are given out again.
    if (step % this.#step !== 0) this.#time = 0;
    const isShort =
      (hasHashes && this.#number < number + MARGIN) ||
      (hasRoots && this.#time < timestamp + Math.max(step, MARGIN * secondsPerBlock));
    // Both at once, so that they stay in step.
    if (!isShort) return [];
    const keys: StateKey[] = [];
    if (hasHashes) {
      const last = number + BLOCKS_AHEAD;
      for (let at = Math.max(number, this.#number); at < last; at++) keys.push(slotOf(HASHES, at % RING));
      this.#number = last;
    }
    if (hasRoots) {
      const last = timestamp + step * Math.ceil((BLOCKS_AHEAD * secondsPerBlock) / step);
      for (let at = timestamp + step; at <= last; at += step) {
        if (at <= this.#time) continue;
        keys.push(slotOf(ROOTS, at % RING), slotOf(ROOTS, (at % RING) + RING));
      }
      [this.#time, this.#step] = [last, step];
    }
    return keys;
  }

  /** What was given out last could not be read: it is given out again. */
  forget(): void {
    [this.#number, this.#time] = [0, 0];
  }

  #note(number: number, timestamp: number): void {
    // After a reorg, what was above is gone.
    this.#recent = this.#recent.filter((block) => block.number < number).slice(-BLOCKS_AHEAD);
    this.#recent.push({ number, timestamp });
  }

  /** What all times between two blocks are multiples of, and the time of a block on average. */
  #pace(): { readonly step: number; readonly secondsPerBlock: number } | undefined {
    const [first] = this.#recent;
    const last = this.#recent.at(-1);
    if (first === undefined || last === undefined || first.timestamp === last.timestamp) return undefined;
    const step = this.#recent
      .slice(1)
      .map(({ timestamp }, at) => timestamp - (this.#recent[at]?.timestamp ?? 0))
      .reduce(commonDivisor);
    return { step, secondsPerBlock: (last.timestamp - first.timestamp) / (last.number - first.number) };
  }
}

/** Of any number and zero, it is the number. */
function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

function slotOf(address: Uint8Array, place: number): SlotKey {
  const slot = new Uint8Array(32);
  new DataView(slot.buffer).setUint32(28, place);
  return { kind: 'slot', address, slot };
}
