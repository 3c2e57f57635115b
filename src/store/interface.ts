import type { Log } from '../chain/log.ts';
import type { BlockRef, Outcome } from '../chain/outcome.ts';
import type { Receipt } from '../chain/receipt.ts';
import type { StateKey } from '../chain/state-key.ts';
import type { Awaitable, Hex } from '../primitives/hex.ts';

/** The named blocks of the chain: lowest ≤ anchor ≤ head, and finalized ≤ safe ≤ head. */
export interface Marks {
  /** The first block that is held: its bytes, receipts and logs. */
  readonly lowest: BlockRef;
  /** The first block whose state can be read. */
  readonly anchor: BlockRef;
  readonly head: BlockRef;
  /** Both undefined before they are marked, and once they are below the lowest block. */
  readonly safe: BlockRef | undefined;
  readonly finalized: BlockRef | undefined;
  /** The first block whose rules were not known: from it on, state is what upstreams' state diffs say of transactions. */
  readonly byDiffs?: BlockRef | undefined;
}

/** A value as of the anchor, read elsewhere. Empty bytes are the known absence of an account, slot or code. */
export interface Pin {
  readonly key: StateKey;
  readonly value: Uint8Array;
}

export interface AppendOptions {
  /** Takes off every block above this one first; readers see the old fork whole or the new one whole. */
  readonly onto?: number;
  /** As `pin` writes them, together with the blocks that needed them. */
  readonly pins?: readonly Pin[];
  /** Blocks that can be taken off the head afterwards; the store's own number if it is left out. What is gone stays gone. */
  readonly undo?: number;
  /** Looked at for the first block of a chain only: its diff is not the whole state. */
  readonly partial?: boolean;
  /** The first of the blocks whose rules were not known. The first one ever is marked, until it is taken off. */
  readonly byDiffs?: BlockRef | undefined;
  /**
   * Forgets the whole chain first, pins and marks included, but no texts: the first block is a new anchor. Refused
   * with `conflict` where history was prepended, which nothing can bring back as cheaply as it goes.
   */
  readonly reanchor?: boolean;
}

/** What eth_getLogs asks for: an empty list at a position means anything. Values are alternatives. */
export interface LogQuery {
  readonly addresses: readonly Uint8Array[];
  /** By position, 0 to 3; trailing positions may be left out. A log with fewer topics than positions never matches. */
  readonly topics: readonly (readonly Uint8Array[])[];
}

/** The logs of one block, each readable without decoding the others. */
export interface BlockLogs extends BlockRef {
  readonly timestamp: number;
  /** The same in milliseconds, where it is known. */
  readonly timestampMs?: number | undefined;
  readonly length: number;
  log(index: number): Log;
  transactionHash(transactionIndex: number): Uint8Array;
}

/** Matching logs of one block: ascending indexes into `block`. */
export interface LogMatch {
  readonly block: BlockLogs;
  readonly indexes: readonly number[];
}

/** Receipts of one block with the logs they count off. */
export interface BlockReceipts {
  readonly receipts: readonly Receipt[];
  readonly logs: BlockLogs;
}

/** A transaction by its block, which is canonical, and its index in it. */
export interface TransactionPlace extends BlockRef {
  readonly index: number;
}

/** What may be asked of a store. */
export interface StoreReader {
  /** Free-form text kept with the chain, such as its genesis config. */
  getMeta(name: string): Awaitable<string | undefined>;

  marks(): Awaitable<Marks | undefined>;

  canonicalHash(number: number): Awaitable<Hex | undefined>;
  numberOf(hash: Hex): Awaitable<number | undefined>;
  header(ref: BlockRef): Awaitable<Uint8Array | undefined>;
  /** RLP of the whole block. */
  block(ref: BlockRef): Awaitable<Uint8Array | undefined>;
  receipts(ref: BlockRef): Awaitable<BlockReceipts | undefined>;
  blockLogs(ref: BlockRef): Awaitable<BlockLogs | undefined>;
  /** Where the transaction with this hash is in the canonical chain, as far as its blocks are indexed. */
  transaction(hash: Hex): Awaitable<TransactionPlace | undefined>;
  /**
   * The lowest block whose transactions are found by hash: the lowest held, or a higher one while a store that had no index
   * is being indexed; undefined if empty.
   */
  transactionsFrom(): Awaitable<number | undefined>;
  /** The lowest block that the chain can be taken back to, as far as what is kept for it goes; undefined if empty. */
  undoFloor(): Awaitable<number | undefined>;
  /** Encoded diff of a block above that one. */
  diffBytes(number: number): Awaitable<Uint8Array | undefined>;

  /**
   * Matching logs of the canonical blocks `from`..`to`, ascending; stops reading when the caller stops iterating.
   * Throws `outOfRange` for blocks that are not held (any more), and `reorganised` when block `to` is taken off
   * meanwhile: one answer never mixes two forks. Gives others on the thread their turn every few milliseconds, whether
   * anything matches or not, and asks `checkpoint` each time: what that throws ends the search.
   */
  findLogs(query: LogQuery, from: number, to: number, checkpoint?: () => void): AsyncIterable<LogMatch>;

  /**
   * The values of `keys` as of block `number`, in order. `undefined` is "not known here" and only occurs in a partial
   * store, or for the hash of a block below the lowest; empty bytes are the known absence of an account, slot or
   * code. Throws `outOfRange` for a block above the head or below the anchor, and `reorganised` when block `of` is
   * not canonical in the snapshot that the values come from.
   */
  loadState(
    keys: readonly StateKey[],
    number: number,
    of?: BlockRef,
  ): Awaitable<readonly (Uint8Array | undefined)[]>;
  /** Whether the first block came with the whole state, so that nothing is unknown; false if empty. */
  isComplete(): Awaitable<boolean>;
  /**
   * Every account and slot that is known to exist at block `number`, by address, an account before its slots; for
   * commitments and verification. Throws as `loadState` does.
   */
  scanState(number: number): AsyncIterable<StateEntry>;
  /**
   * All that `loadState` answers from for blocks `from` to `to`, but hashes of blocks: what is known as of `from`, under that number,
   * and every version above. As of `from`, what a complete store does not name is absent, and so are slots of an account that a partial
   * one names as wiped. Code has no number: it is there for all blocks. Wipes come first; the rest in the driver's own order, the same
   * each time. Throws as `scanState` does, of either block.
   */
  scanVersions(from: number, to: number): AsyncIterable<StateVersion>;
}

/** What changes a store: one of these at a time, by whoever holds it for writing. */
export interface StoreChanges {
  /** Written with the first block. */
  setMeta(name: string, value: string): Promise<void>;

  /**
   * Appends blocks on top of the head, all of them or none; the first block of an empty store is its lowest and its
   * anchor. With `onto`, refuses what `revertTo` refuses.
   */
  append(outcomes: readonly Outcome[], options?: AppendOptions): Promise<void>;
  /**
   * Adds blocks directly below the lowest, ascending, all of them or none. Only their bytes, receipts and logs are
   * kept: their diffs are ignored and the anchor stays.
   */
  prepend(outcomes: readonly Outcome[]): Promise<void>;
  /**
   * Remembers values as of `anchor`, for ever; `conflict` when that is not the anchor by now. What is known as of
   * the anchor stays as it is: the first pin of a key wins. Reverts never undo a pin. Hashes of blocks below the
   * lowest are for `loadState` only.
   */
  pin(anchor: BlockRef, pins: readonly Pin[]): Promise<void>;
  /**
   * Takes off every block above `number`; refuses what is deeper than the undo window, below the anchor or below
   * `finalized`. `safe` moves down to the new head if it is above it.
   */
  revertTo(number: number): Promise<void>;
  /**
   * Forgets history below `below`: first moves the lowest block and the anchor up to it, so that reads below are
   * refused from then on, then deletes about `limit` rows of what nobody can read any more. Returns whether some
   * are left: call again. Answers at and above the anchor stay the same. Refuses what is within the undo window.
   */
  prune(below: number, limit: number): Promise<boolean>;
  /**
   * Has about `limit` transactions found by hash that were written before there was an index, the newest first. Returns
   * whether some are left: call again.
   */
  indexTransactions(limit: number): Promise<boolean>;
  /**
   * Moves `safe` and `finalized` up: each must be a canonical block, and none goes back, which is a `conflict`. What is
   * final is safe, so `finalized` takes `safe` along.
   */
  mark(marks: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void>;
  /** Ends what is under way. */
  close(): Promise<void>;
}

/**
 * A versioned copy of one chain. Blocks are appended at the head and taken off it, each atomically: a reader sees
 * a whole block or none of it, also after a crash. Refusals are `StoreError`s. Every driver passes `contract.ts`.
 *
 * A complete store was given the whole state with its first block, and nothing is unknown in it. A partial one
 * learns the state before its first block key by key, by pins.
 */
export interface Store extends StoreReader, StoreChanges {}

/** One existing account or slot of a full scan. */
export type StateEntry =
  | { readonly kind: 'account'; readonly address: Uint8Array; readonly value: Uint8Array }
  | {
      readonly kind: 'slot';
      readonly address: Uint8Array;
      readonly slot: Uint8Array;
      readonly value: Uint8Array;
    };

/** What a key was from block `number` on. Empty bytes are a known absence. */
export type StateVersion =
  | (StateEntry & { readonly number: number })
  | { readonly kind: 'wipe'; readonly address: Uint8Array; readonly number: number }
  | { readonly kind: 'code'; readonly hash: Uint8Array; readonly value: Uint8Array };
