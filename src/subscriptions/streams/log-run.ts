import type { ConfirmedBlock, RemovedBlock } from '../../feed/interface.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { BlockLogs } from '../../store/interface.ts';

/** Logs of one block that clients hold alike: from index `first` up to `end`, or to the block's last. */
export interface Segment {
  readonly first: number;
  readonly end: number;
  /** The position at which they came to stand. Whoever subscribed later has not been told of them. */
  readonly since: number;
  /**
   * The position at which their block was confirmed: who was live before holds them with an all-zero block hash. 0 for
   * logs that nobody was told of before that, infinite for those that are pre-confirmed still.
   */
  readonly hashedFrom: number;
}

/** Some logs of one block, on their way. */
export interface LogRun extends Segment {
  readonly block: BlockLogs;
}

/** What one event does to one view of the chain. */
export interface LogChange {
  /** Newest first; the logs of a run too are taken back from its last to its first. */
  readonly removed: readonly LogRun[];
  readonly added: readonly LogRun[];
}

/** The logs of a block that was confirmed; nothing of it is decoded before somebody asks. */
export class ConfirmedLogs implements BlockLogs {
  readonly number: number;
  readonly hash: Hex;
  readonly #block: ConfirmedBlock;

  constructor(block: ConfirmedBlock) {
    this.number = block.number;
    this.hash = block.hash;
    this.#block = block;
  }

  get timestamp(): number {
    return this.#block.outcome.timestamp;
  }

  get timestampMs(): number | undefined {
    return this.#block.outcome.timestampMs;
  }

  get length(): number {
    return this.#block.outcome.logs.length;
  }

  log(index: number): ReturnType<BlockLogs['log']> {
    return held(this.#block.outcome.logs[index], this, index);
  }

  transactionHash(transactionIndex: number): Uint8Array {
    return held(this.#block.outcome.receipts[transactionIndex], this, transactionIndex).transactionHash;
  }
}

/** The logs of a block that was taken off the chain. */
export class RemovedLogs implements BlockLogs {
  readonly number: number;
  readonly hash: Hex;
  readonly timestamp: number;
  readonly timestampMs: number | undefined;
  readonly length: number;
  readonly #block: RemovedBlock;

  constructor(block: RemovedBlock) {
    this.number = block.number;
    this.hash = block.hash;
    this.timestamp = block.timestamp;
    this.timestampMs = block.timestampMs;
    this.length = block.logs.length;
    this.#block = block;
  }

  log(index: number): ReturnType<BlockLogs['log']> {
    return held(this.#block.logs[index], this, index);
  }

  transactionHash(transactionIndex: number): Uint8Array {
    return held(this.#block.transactionHashes.get(transactionIndex), this, transactionIndex);
  }
}

function held<T>(item: T | undefined, { number }: BlockLogs, index: number): T {
  if (item === undefined) throw new RangeError(`block ${number} has no log or transaction ${index}`);
  return item;
}

/** How many logs two versions of a block begin with alike: equal in all that clients are told but the block hash. */
export function commonLogs(a: BlockLogs, b: BlockLogs): number {
  if (a.number !== b.number || a.timestamp !== b.timestamp || a.timestampMs !== b.timestampMs) return 0;
  const shorter = Math.min(a.length, b.length);
  for (let index = 0; index < shorter; index++) if (!sameLog(a, b, index)) return index;
  return shorter;
}

function sameLog(a: BlockLogs, b: BlockLogs, index: number): boolean {
  const [one, other] = [a.log(index), b.log(index)];
  if (one === other) return true;
  return (
    one.transactionIndex === other.transactionIndex &&
    same(a.transactionHash(one.transactionIndex), b.transactionHash(other.transactionIndex)) &&
    same(one.address, other.address) &&
    one.topics.length === other.topics.length &&
    one.topics.every((topic, at) => same(topic, other.topics[at])) &&
    same(one.data, other.data)
  );
}

function same(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return b !== undefined && Buffer.compare(a, b) === 0;
}

/** The segments of the first `count` logs. */
export function clip(segments: readonly Segment[], count: number): readonly Segment[] {
  return segments
    .filter(({ first }) => first < count)
    .map((segment) => ({ ...segment, end: Math.min(segment.end, count) }));
}

/** Runs of the logs from index `from` on, newest first. */
export function runsDown(block: BlockLogs, segments: readonly Segment[], from: number): readonly LogRun[] {
  return segments
    .filter(({ end }) => end > from)
    .map((segment) => ({ ...segment, block, first: Math.max(segment.first, from) }))
    .reverse();
}
