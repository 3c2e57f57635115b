/** A command failed, and its log says why: nothing more is to be printed. */
export class LoggedError extends Error {
  override readonly name = 'LoggedError';
}

/** The message of an error and of what caused it, on one line. */
export function describeError(error: unknown): string {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const message = cause.message || cause.name;
    // A wrapper often quotes its cause already.
    if (!messages.some((known) => known.includes(message))) messages.push(message);
  }
  if (messages.length === 0) messages.push(String(error));
  return messages.join(': ').replace(/\s*\n\s*/g, ' ');
}
