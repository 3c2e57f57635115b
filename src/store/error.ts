/** Why a store refused. `conflict` and `outOfRange` are answers; all others but `reorganised` need an operator. */
export type StoreErrorCode =
  /** A block does not link to the chain, a mark is not canonical or goes back, or the anchor is another block. */
  | 'conflict'
  /** A block, range or depth that this store does not hold. */
  | 'outOfRange'
  /** Blocks that were being read have been taken off the chain; start again. */
  | 'reorganised'
  /** The size limit of the store is reached. */
  | 'full'
  /** Opened for reading only. */
  | 'readOnly'
  /** Another process has the right to write. */
  | 'inUse'
  /** The disk refuses: it is full, read-only or broken. May work again later. */
  | 'unwritable'
  /** The servers behind the store do not answer, or not enough of them. May work again later. */
  | 'unavailable'
  /** Written by another version of this program, in another form. */
  | 'schema'
  /** Stored rows contradict each other. */
  | 'corrupt';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Whether a change failed for want of room or of a disk that can be written, and may succeed later. */
export function isUnwritable(error: unknown): boolean {
  return error instanceof StoreError && ['full', 'unwritable', 'unavailable'].includes(error.code);
}

/** Whether the servers behind a store did not answer, who may do so again. */
export function isUnavailable(error: unknown): error is StoreError {
  return error instanceof StoreError && error.code === 'unavailable';
}
