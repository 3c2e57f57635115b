/** Something the person at the command line can fix: a wrong flag, variable, file key or value. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** What to do about it, a line each. */
  readonly hints: readonly string[];

  constructor(
    message: string,
    { hints = [], ...options }: ErrorOptions & { readonly hints?: readonly string[] } = {},
  ) {
    super(message, options);
    this.hints = hints;
  }
}
