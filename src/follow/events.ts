import type { BlockRef } from '../chain/outcome.ts';
import type { LeaderChange } from '../source/heads/leader.ts';

/** Everything about following a chain that is worth a metric or a log line. */
export type FollowEvent =
  /** The copy begins here. */
  | { readonly kind: 'anchored'; readonly anchor: BlockRef; readonly reason: string }
  | {
      readonly kind: 'executed';
      readonly block: BlockRef;
      readonly transactions: number;
      readonly gasUsed: number;
      /** Times that state was missing. */
      readonly rounds: number;
      /** From the first try to the verified outcome, with all loading. */
      readonly ms: number;
    }
  /** Transactions of a block were not executed here: what they did is an upstream's word. */
  | {
      readonly kind: 'taken';
      readonly block: BlockRef;
      readonly transactions: number;
      readonly upstream: string | undefined;
      readonly isProven: boolean;
    }
  /** A block that had been pre-confirmed is sealed. */
  | {
      readonly kind: 'sealed';
      readonly block: BlockRef;
      readonly transactions: number;
      /** How many had been pre-confirmed, and how many of them are sealed as they were. */
      readonly preconfirmed: number;
      readonly kept: number;
      readonly ms: number;
    }
  /** What is served has changed. */
  | { readonly kind: 'moved'; readonly head: BlockRef; readonly byDiffs?: BlockRef | undefined }
  | { readonly kind: 'reorganised'; readonly depth: number; readonly base: BlockRef }
  /** Another upstream's chain is followed from now on. */
  | ({ readonly kind: 'led' } & LeaderChange)
  | { readonly kind: 'pruned'; readonly below: number }
  /** The head cannot be reached now; it is tried again. */
  | { readonly kind: 'trouble'; readonly error: unknown; readonly retryMs: number };

export type ObserveFollowing = (event: FollowEvent) => void;
