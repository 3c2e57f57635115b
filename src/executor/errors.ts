import { CodedError, OverloadedError, StateUnavailableError } from '../primitives/errors.ts';

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

/** A limit of ours ended an execution: nothing is known about whether the block is valid, and nobody is to blame. */
export class ExecutionLimitError extends CodedError<{
  readonly code: 'EXECUTION_LIMIT';
  readonly reason: string;
}> {
  constructor(reason: string, options?: ErrorOptions) {
    super({ code: 'EXECUTION_LIMIT', reason }, reason, options);
  }
}

/** How the native core begins the message of a refusal that is about what it was given, or that it lacks a block. */
const ABOUT_THE_BLOCK = /^(?:invalid-block|malformed): /;
const UNAVAILABLE = /^unavailable: /;
const BUSY = /^busy: /;
const EXHAUSTED = /^exhausted: /;

/** Waits for what may find no room, and gives that a type. */
export async function asOverloaded<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof Error && BUSY.test(error.message) ? new OverloadedError({ cause: error }) : error;
  }
}

/** Runs what reads a block of somebody else's, and gives refusals of it a type. */
export function asInvalidBlock<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw refusalOf(error);
  }
}

/** A failure of executing a block or flashblock, by its type. */
export function failureOf(error: unknown): unknown {
  const text = error instanceof Error ? error.message : '';
  if (EXHAUSTED.test(text)) return new ExecutionLimitError(text.replace(EXHAUSTED, ''), { cause: error });
  if (UNAVAILABLE.test(text)) return new StateUnavailableError(text.replace(UNAVAILABLE, ''));
  return refusalOf(error);
}

function refusalOf(error: unknown): unknown {
  const text = error instanceof Error ? error.message : '';
  if (!ABOUT_THE_BLOCK.test(text)) return error;
  return new InvalidBlockError(text.replace(ABOUT_THE_BLOCK, ''), { cause: error });
}
