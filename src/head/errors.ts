import { CodedError } from '../primitives/errors.ts';

/** Why a snapshot cannot answer. */
export type HeadErrorType =
  /** `block` is the selector as the client wrote it. */
  | { readonly code: 'BLOCK_NOT_FOUND'; readonly block: string }
  | { readonly code: 'NOT_CANONICAL'; readonly hash: string }
  /** The store left the snapshot's chain while it was read: the whole request runs again on a new snapshot. */
  | { readonly code: 'REORGANISED' };

export class HeadError extends CodedError<HeadErrorType> {}
