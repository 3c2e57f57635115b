import type { Log } from '../chain/log.ts';
import type { BlockRef, Outcome } from '../chain/outcome.ts';
import type { Receipt } from '../chain/receipt.ts';
import type { StateKey } from '../chain/state-key.ts';
import type { Awaitable, Hex } from '../primitives/hex.ts';

/** The named blocks of the chain. `anchor` is the first block whose state is complete: genesis for an import. */
export interface Marks {
  readonly anchor: BlockRef;
  readonly head: BlockRef;
  readonly safe: BlockRef;
  readonly finalized: BlockRef;
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

/**
 * A versioned copy of one chain. Blocks are appended at the head and taken off it, each atomically: a reader sees
 * a whole block or none of it, also after a crash. Refusals are `StoreError`s. Every driver passes `contract.ts`.
 */
export interface Store {
  /** Free-form text kept with the chain, such as its genesis config. Written with the first block. */
  getMeta(name: string): Awaitable<string | undefined>;
  setMeta(name: string, value: string): Promise<void>;

  /** Appends blocks on top of the head, all of them or none; the first block of an empty store is the anchor. */
  append(outcomes: readonly Outcome[]): Promise<void>;
  /**
   * Takes off every block above `number`; refuses what is deeper than the undo window or below the anchor. Marks
   * above the new head move down to it.
   */
  revertTo(number: number): Promise<void>;
  /** Moves `safe` and `finalized`; each must be a canonical block. */
  mark(marks: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void>;
  marks(): Awaitable<Marks | undefined>;

  canonicalHash(number: number): Awaitable<Hex | undefined>;
  numberOf(hash: Hex): Awaitable<number | undefined>;
  header(ref: BlockRef): Awaitable<Uint8Array | undefined>;
  /** RLP of the whole block. */
  block(ref: BlockRef): Awaitable<Uint8Array | undefined>;
  receipts(ref: BlockRef): Awaitable<BlockReceipts | undefined>;
  blockLogs(ref: BlockRef): Awaitable<BlockLogs | undefined>;
  /** Encoded diff of one of the last `undoWindow` blocks. */
  diffBytes(number: number): Awaitable<Uint8Array | undefined>;

  /**
   * Matching logs of the canonical blocks `from`..`to`, ascending; stops reading when the caller stops iterating.
   * Throws `outOfRange` for blocks that are not held, and `reorganised` when block `to` is taken off meanwhile: one
   * answer never mixes two forks.
   */
  findLogs(query: LogQuery, from: number, to: number): AsyncIterable<LogMatch>;

  /**
   * The values of `keys` as of block `number`, in order. `undefined` is "not known here" and only occurs when the
   * anchor is not genesis; empty bytes are the known absence of an account, slot or code. Throws `outOfRange` for a
   * block above the head or below the anchor.
   */
  loadState(keys: readonly StateKey[], number: number): Awaitable<readonly (Uint8Array | undefined)[]>;
  /**
   * Every account and slot that exists at block `number`, by address, an account before its slots; for commitments
   * and verification.
   */
  scanState(number: number): AsyncIterable<StateEntry>;

  close(): Promise<void>;
}

/** One existing account or slot of a full scan. */
export type StateEntry =
  | { readonly kind: 'account'; readonly address: Uint8Array; readonly value: Uint8Array }
  | {
      readonly kind: 'slot';
      readonly address: Uint8Array;
      readonly slot: Uint8Array;
      readonly value: Uint8Array;
    };
