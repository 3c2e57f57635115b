/** A command failed, and its log says why: nothing more is to be printed. */
export class LoggedError extends Error {
  override readonly name = 'LoggedError';
}

/** A command did its work, has printed what it found, and found that something is wrong. */
export class FaultsFoundError extends Error {
  override readonly name = 'FaultsFoundError';
}

/** Why the program is to end: a signal. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
  readonly exitCode: number;

  constructor(signal: string, number: number) {
    super(`stopped by ${signal}`);
    this.exitCode = 128 + number;
  }
}

/** What an error says may come from far: a terminal must not obey it, and a line must stay one. */
const MAX_LENGTH = 1_000;
/** Control characters, line separators, and what turns the direction of writing. */
const CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** The message of an error and of what caused it, on one line that is safe to print. */
export function describeError(error: unknown): string {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const message = cause.message || cause.name;
    // A wrapper often quotes its cause already.
    if (!messages.some((known) => known.includes(message))) messages.push(message);
  }
  if (messages.length === 0) messages.push(String(error));
  return printable(messages.join(': '));
}

/** A text as one line: control characters are shown, and what is too long is cut. */
export function printable(text: string): string {
  const line = text
    .replace(/\s*\n\s*/g, ' ')
    .replace(CONTROL, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH)}…`;
}
