import type { Hex } from '../primitives/hex.ts';
import type { StateDiff } from './diff.ts';
import type { Log } from './log.ts';
import type { Receipt } from './receipt.ts';

/** A block by number and hash; the hash is what makes it one block and no other. */
export interface BlockRef {
  readonly number: number;
  readonly hash: Hex;
}

/** All that executing one block gave: what ingest appends to the store and the feed. May be read as it is asked for. */
export interface Outcome extends BlockRef {
  readonly parentHash: Hex;
  readonly timestamp: number;
  /** The same in milliseconds, where the block says it. */
  readonly timestampMs?: number | undefined;
  /** RLP of the header. */
  readonly header: Uint8Array;
  /** RLP of the whole block, as it is hashed and linked. */
  readonly block: Uint8Array;
  readonly receipts: readonly Receipt[];
  readonly logs: readonly Log[];
  readonly diff: StateDiff;
  /** The diff as the native core encodes it, for replay into hot state. */
  readonly diffBytes: Uint8Array;
}

/** An outcome with the bytes it was read from: the native core's, which the feed passes on. */
export interface EncodedOutcome extends Outcome {
  readonly encoded: Uint8Array;
}
