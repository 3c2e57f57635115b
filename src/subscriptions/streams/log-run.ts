import type { ConfirmedBlock, RemovedBlock } from '../../feed/interface.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { BlockLogs } from '../../store/interface.ts';
import type { Change, Run } from './held-stack.ts';

/** Some logs of one block, on their way. */
export type LogRun = Run<BlockLogs>;

/** What one event does to one view of the chain's logs. */
export type LogChange = Change<BlockLogs>;

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
    return held(this.#block.receipts[transactionIndex], this, transactionIndex).transactionHash;
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
