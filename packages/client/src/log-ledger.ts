import { type RpcLog, zeroHash } from 'viem';

/** A log by its place in the chain. */
export interface LogPlace {
  readonly block: number;
  readonly index: number;
}

export type LogChange = { readonly type: 'added' | 'retracted'; readonly log: RpcLog };

/** What came does not follow from what came before: the stream has to be begun again. */
export class StreamError extends Error {
  override readonly name = 'StreamError';
}

/** So many logs are not final that they cannot all be held: the watch ends. */
export class HeldLogsError extends Error {
  override readonly name = 'HeldLogsError';
}

interface Held {
  readonly place: LogPlace;
  readonly text: string;
  /** As it was told. */
  readonly log: RpcLog;
}

export const placeOf = ({ blockNumber, logIndex }: RpcLog): LogPlace => ({
  block: Number(blockNumber),
  index: Number(logIndex),
});

const isAfter = (one: LogPlace, other: LogPlace): boolean =>
  one.block > other.block || (one.block === other.block && one.index > other.index);

/** All but the block hash, which is zero in what was told early. */
const textOf = ({ blockHash: _hash, removed: _removed, ...log }: RpcLog): string =>
  JSON.stringify(Object.entries(log).toSorted(([one], [other]) => (one < other ? -1 : 1)));

/** The same log, though one of the two may have been told before its block had a hash. */
function isSame(held: Held, log: RpcLog, text: string): boolean {
  if (held.text !== text) return false;
  const hashes = [held.log.blockHash, log.blockHash];
  return hashes[0] === hashes[1] || hashes.includes(zeroHash);
}

/**
 * The logs that were given out and may still be taken back. A stream adds to it and takes from it; when the stream is cut off,
 * what is above the final block is in doubt until the next stream tells it again, which nobody hears, or does not, which
 * is told as a retraction.
 */
export class LogLedger {
  readonly #emit: (change: LogChange) => void;
  readonly #maxHeld: number;
  readonly #held: Held[] = [];
  /** The first so many were told by the stream that there is; the rest is in doubt. */
  #sure = 0;
  /** The newest log that is final, and need not be held. */
  #base: LogPlace;
  #final = -1;
  /** Will be final as soon as a log of a higher block comes. */
  #nextFinal: number | undefined;

  /** `from` is the first log that is wanted. */
  constructor(from: LogPlace, maxHeld: number, emit: (change: LogChange) => void) {
    this.#base = { block: from.block, index: from.index - 1 };
    this.#maxHeld = maxHeld;
    this.#emit = emit;
  }

  /** The first log that a stream should bring. */
  get next(): LogPlace {
    return { block: this.#base.block, index: this.#base.index + 1 };
  }

  /** How many logs are in doubt. */
  get inDoubt(): number {
    return this.#held.length - this.#sure;
  }

  get size(): number {
    return this.#held.length;
  }

  /** A new stream begins: all that is not final is in doubt. `final` was asked for before. */
  begin(final: number): void {
    this.#settle();
    this.#sure = 0;
    this.#final = Math.max(this.#final, final);
    this.#nextFinal = undefined;
  }

  /** A final block that was asked for during the stream. */
  noteFinal(number: number): void {
    this.#nextFinal ??= number;
  }

  /** All that the chain has up to this block has been taken, and is final. */
  finalize(number: number): void {
    this.#final = Math.max(this.#final, number);
    this.#settle();
  }

  /** Takes the next message of the stream. */
  take(log: RpcLog): void {
    if (log.removed) {
      this.#takeBack(log);
      return;
    }
    const place = placeOf(log);
    if (!isAfter(place, this.#base))
      throw new StreamError('a log came that comes before all that was asked for');
    const text = textOf(log);
    const doubted = this.#held[this.#sure];
    if (doubted === undefined || !isSame(doubted, log, text)) {
      this.dropDoubted();
      const last = this.#held.at(-1);
      if (last !== undefined && !isAfter(place, last.place))
        throw new StreamError('a log came twice or out of order');
      this.#held.push({ place, text, log });
      this.#emit({ type: 'added', log });
    }
    this.#sure += 1;
    if (this.#nextFinal !== undefined && place.block > this.#nextFinal) {
      this.finalize(this.#nextFinal);
      this.#nextFinal = undefined;
    }
    if (this.#held.length <= this.#maxHeld) return;
    // What the first answer about finality covers may have come meanwhile.
    this.#settle();
    if (this.#held.length > this.#maxHeld)
      throw new HeldLogsError(`more than ${this.#maxHeld} logs are not final`);
  }

  /** Keeps of what is in doubt what begins `logs` too: all that the chain has from `next` on. */
  compare(logs: readonly RpcLog[]): void {
    const newest = this.#held[this.#sure - 1]?.place ?? this.#base;
    const rest = logs.filter((log) => isAfter(placeOf(log), newest));
    let same = 0;
    for (const log of rest) {
      const doubted = this.#held[this.#sure + same];
      if (doubted === undefined || !isSame(doubted, log, textOf(log))) break;
      same += 1;
    }
    this.#drop(this.#sure + same);
  }

  /** Takes back all that is in doubt. */
  dropDoubted(): void {
    this.#drop(this.#sure);
  }

  #takeBack(log: RpcLog): void {
    this.dropDoubted();
    const last = this.#held.at(-1);
    if (last === undefined || last.text !== textOf(log))
      throw new StreamError('a log was taken back that is not the newest');
    this.#drop(this.#held.length - 1);
  }

  /** Newest first. */
  #drop(length: number): void {
    while (this.#held.length > length) {
      const held = this.#held.pop();
      if (held !== undefined) this.#emit({ type: 'retracted', log: { ...held.log, removed: true } });
    }
    this.#sure = Math.min(this.#sure, length);
  }

  /** Forgets what is final. */
  #settle(): void {
    let count = 0;
    while (count < this.#sure && (this.#held[count]?.place.block ?? Number.POSITIVE_INFINITY) <= this.#final)
      count += 1;
    const newest = this.#held[count - 1];
    if (newest === undefined) return;
    this.#base = newest.place;
    this.#held.splice(0, count);
    this.#sure -= count;
  }
}
