import type { StateDiff } from '../chain/diff.ts';
import type { Log } from '../chain/log.ts';
import type { BlockRef, Outcome } from '../chain/outcome.ts';
import type { Receipt } from '../chain/receipt.ts';
import type { Hex } from '../primitives/hex.ts';

/** Which flashblock of which pre-confirmed block, and under which version its state can be read. */
interface FlashblockPlace {
  /** Names the state after it in hot state. */
  readonly version: number;
  readonly payloadId: string;
  /** 0 begins a block, and takes the place of pre-confirmed blocks of its number and above, if there are any. */
  readonly index: number;
  /** Where its transactions and logs begin in the block. */
  readonly firstTransaction: number;
  readonly firstLog: number;
}

/** One flashblock, executed; its state can be read from now on. */
export interface PreconfirmedFlashblock extends FlashblockPlace {
  /**
   * The header and hash of the block so far; transactions, receipts, logs and changes of this flashblock only, counted
   * from its own first transaction.
   */
  readonly outcome: Outcome;
}

/** A block that is part of the chain now. */
export interface ConfirmedBlock extends BlockRef {
  /** Decoded when it is first asked for. */
  readonly outcome: Outcome;
}

/** A block that was part of the chain. */
export interface RemovedBlock extends BlockRef {
  readonly parentHash: Hex;
  readonly timestamp: number;
  readonly timestampMs?: number | undefined;
  readonly logs: readonly Log[];
  readonly receipts: readonly Receipt[];
  /** What it had changed, decoded when it is first asked for. */
  readonly diff: StateDiff;
}

/** The same on its way. */
export type SentRemovedBlock = Omit<RemovedBlock, 'diff'> & { readonly diffBytes: Uint8Array };

/** What is the same in both forms of an event. */
type Bare =
  /** Pre-confirmed blocks from a number on are gone. `version` names the state of those below, if any are left. */
  | {
      readonly kind: 'dropped';
      readonly from: number;
      readonly reason: string;
      readonly version: number | undefined;
    }
  /** Which blocks are safe, final or lowest has changed. */
  | { readonly kind: 'marked' }
  /** Another copy begins: nothing that was told before is held any more. */
  | { readonly kind: 'anchored' };

/** What happens to a chain, in order: what its one writer tells everybody who serves it. */
export type FeedEvent =
  | { readonly kind: 'preconfirmed'; readonly flashblock: PreconfirmedFlashblock }
  /** Blocks were taken off the head (newest first), then others put on it (ascending), if there are any. */
  | {
      readonly kind: 'confirmed';
      readonly removed: readonly RemovedBlock[];
      readonly added: readonly ConfirmedBlock[];
    }
  | Bare;

/** The same on its way: outcomes and diffs are the native core's bytes. */
export type FeedItem =
  | ({ readonly kind: 'preconfirmed'; readonly outcome: Uint8Array } & FlashblockPlace)
  | {
      readonly kind: 'confirmed';
      readonly removed: readonly SentRemovedBlock[];
      readonly added: readonly (BlockRef & { readonly outcome: Uint8Array })[];
    }
  | Bare;

/**
 * Takes what everybody who serves the chain has to know, in order; resolves once all of them answer from it. `position` names the state of
 * the store that it is true of, where threads have to be told.
 */
export type PublishToFeed = (item: FeedItem, position?: string) => Promise<void>;
