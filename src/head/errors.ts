import { CodedError } from '../primitives/errors.ts';

/** Why a snapshot cannot answer. */
export type HeadErrorType =
  /** `block` is the selector as the client wrote it; `lowest` is set where the block is below all that is held. */
  | { readonly code: 'BLOCK_NOT_FOUND'; readonly block: string; readonly lowest?: string }
  | { readonly code: 'NOT_CANONICAL'; readonly hash: string }
  /** The block is held, its state is not; `lowest` is the first block whose state is. */
  | { readonly code: 'STATE_NOT_HELD'; readonly block: string; readonly lowest: string }
  /** Transactions of blocks below this one cannot be found by hash yet. */
  | { readonly code: 'NOT_INDEXED'; readonly above: string }
  /** The store left the snapshot's chain while it was read: the whole request runs again on a new snapshot. */
  | { readonly code: 'REORGANISED' };

export class HeadError extends CodedError<HeadErrorType> {}
