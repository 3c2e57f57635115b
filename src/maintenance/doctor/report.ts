import { InvalidBlockError, InvalidProofError } from '../../executor/errors.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import { SourceError, type SourceErrorCode } from '../../source/errors.ts';

/** `warn` is what works, but worse than it could, or may stop working. */
export type Level = 'ok' | 'warn' | 'fail';

/** What one check found. */
export interface Finding {
  readonly level: Level;
  readonly what: string;
  readonly detail: string;
  /** What to do about it. */
  readonly fix?: string;
}

/** Checks of one thing, such as an upstream. */
export class Section {
  readonly title: string;
  readonly findings: Finding[] = [];

  constructor(title: string) {
    this.title = title;
  }

  ok(what: string, detail: string): void {
    this.findings.push({ level: 'ok', what, detail });
  }

  warn(what: string, detail: string, fix: string): void {
    this.findings.push({ level: 'warn', what, detail, fix });
  }

  fail(what: string, detail: string, fix: string): void {
    this.findings.push({ level: 'fail', what, detail, fix });
  }

  /** Runs a check; what goes wrong in it is a finding, unless it is a fault of this program. */
  async attempt<T>(
    what: string,
    check: () => Promise<T>,
    failure: { readonly level?: 'warn' | 'fail'; readonly fix?: string } = {},
  ): Promise<T | undefined> {
    try {
      return await check();
    } catch (error) {
      if (!isTheirs(error)) throw error;
      const { level = 'fail', fix = fixFor(error) } = failure;
      this[level](what, wordsOf(error), fix);
      return undefined;
    }
  }
}

/** Whether an upstream is to blame. */
export function isTheirs(error: unknown): error is Error {
  const kinds = [SourceError, InvalidBlockError, InvalidProofError, InvalidParamsError];
  return kinds.some((kind) => error instanceof kind);
}

/** A line must stay readable; some servers answer with pages. */
const MAX_WORDS = 160;

/** What an upstream said, without its name, which the section has already. */
export function wordsOf(error: Error): string {
  const name = error instanceof SourceError ? error.type.upstream : undefined;
  const words =
    name !== undefined && error.message.startsWith(`${name}: `)
      ? error.message.slice(name.length + 2)
      : error.message;
  return words.length <= MAX_WORDS ? words : `${words.slice(0, MAX_WORDS)}…`;
}

/** The code of what an upstream answered, if it is one of these. */
export function failedWith(error: unknown, ...codes: readonly SourceErrorCode[]): error is SourceError {
  return error instanceof SourceError && codes.includes(error.type.code);
}

const FIXES: Readonly<Partial<Record<SourceErrorCode, string>>> = {
  unreachable: 'check the URL, and that the server runs and can be reached from here',
  timeout: 'the server is slow: use a nearer one, or raise --upstream-timeout-ms',
  overloaded: 'the server cannot answer now: ask its operator, or use another one',
  rateLimited: 'ask for a higher limit, or lower --upstream-in-flight and --upstream-batch-calls',
  garbage: 'this URL does not answer as JSON-RPC servers do: check it',
  unauthorized: 'check the key or the password in the URL',
};

function fixFor(error: Error): string {
  const known = error instanceof SourceError ? FIXES[error.type.code] : undefined;
  return known ?? 'use another server: this one cannot be followed';
}
