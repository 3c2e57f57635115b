/** An upstream's chain that ours cannot go over to. */
export abstract class UnfollowableError extends Error {}

/** It parts from ours below what we can take off: only another copy could follow it. */
export class TooDeepError extends UnfollowableError {
  override readonly name = 'TooDeepError';
}

/** It has another block than ours where ours is final. That is never replaced (B19). */
export class FinalizedError extends UnfollowableError {
  override readonly name = 'FinalizedError';
}

/** A head that was to extend ours stands on another block. */
export class NotExtendingError extends Error {
  override readonly name = 'NotExtendingError';
}

/** State that is held here is not the chain's, by a proof: an upstream lied when it was read. The copy must re-anchor. */
export class FalseCopyError extends Error {
  override readonly name = 'FalseCopyError';
}
