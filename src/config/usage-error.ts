/** Something the person at the command line can fix: a wrong flag, variable, file key or value. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
