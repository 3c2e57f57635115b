import { CodedError, StateUnavailableError } from '../primitives/errors.ts';

/** A block whose contents do not fit its hash, its parent, or what executing it gives. */
export class InvalidBlockError extends CodedError<{
  readonly code: 'INVALID_BLOCK';
  readonly reason: string;
}> {
  constructor(reason: string, options?: ErrorOptions) {
    super({ code: 'INVALID_BLOCK', reason }, reason, options);
  }
}

/** A Merkle proof that does not prove what it came with. */
export class InvalidProofError extends CodedError<{
  readonly code: 'INVALID_PROOF';
  readonly reason: string;
}> {
  constructor(reason: string, options?: ErrorOptions) {
    super({ code: 'INVALID_PROOF', reason }, reason, options);
  }
}

/** How the native core begins the message of a refusal that is about what it was given, or that it lacks a block. */
const ABOUT_THE_BLOCK = /^(?:invalid-block|malformed): /;
const UNAVAILABLE = /^unavailable: /;

/** Runs what reads a block of somebody else's, and gives refusals of it a type. */
export function asInvalidBlock<T>(run: () => T): T {
  return retyped(run, ABOUT_THE_BLOCK, (reason, cause) => new InvalidBlockError(reason, { cause }));
}

/** Runs what needs a block to be held, and gives it a type that it is not. */
export function asUnavailable<T>(run: () => T): T {
  return retyped(run, UNAVAILABLE, (reason) => new StateUnavailableError(reason));
}

function retyped<T>(run: () => T, prefix: RegExp, toError: (reason: string, cause: unknown) => Error): T {
  try {
    return run();
  } catch (error) {
    const text = error instanceof Error ? error.message : '';
    throw prefix.test(text) ? toError(text.replace(prefix, ''), error) : error;
  }
}
