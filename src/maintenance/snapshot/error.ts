/** A snapshot that is not whole, lies, or does not fit: nothing of it is used from there on. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

/** The chain or its start moved while it was read: what was read is not one chain. */
export class MovedError extends Error {
  override readonly name = 'MovedError';
}
