import { CodecError } from '../chain/byte-codec.ts';
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

/** A block of a fork whose rules are not known here: nothing is known about whether it is valid, and nobody is to blame. */
export class UnknownForkError extends CodedError<{
  readonly code: 'UNKNOWN_FORK';
  readonly reason: string;
}> {
  constructor(reason: string, options?: ErrorOptions) {
    super({ code: 'UNKNOWN_FORK', reason }, reason, options);
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

/** It enters a native contract, which nothing here can run, and nobody says what that does. */
export class NativeContractError extends CodedError<{
  readonly code: 'NATIVE_CONTRACT';
  readonly reason: string;
}> {
  constructor(reason: string, options?: ErrorOptions) {
    super({ code: 'NATIVE_CONTRACT', reason }, reason, options);
  }
}

/** The kind of an error of the native core, which it has as its code. */
export type NativeCode =
  | 'malformed'
  | 'unsupported'
  | 'unknown-fork'
  | 'invalid-block'
  | 'invalid-proof'
  | 'unavailable'
  | 'busy'
  | 'exhausted'
  | 'native'
  | 'cancelled';

function hasCode(error: unknown, ...codes: readonly NativeCode[]): error is Error {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

/** Whether the native core says that it does not support what a chain configuration asks for. */
export function isUnsupported(error: unknown): error is Error {
  return hasCode(error, 'unsupported');
}

/** Waits for what may find no room, and gives that a type. */
export async function asOverloaded<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw hasCode(error, 'busy') ? new OverloadedError({ cause: error }) : error;
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

/** Takes in what another process says of a flashblock, and gives refusals of it a type. */
export function asTold<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw hasCode(error, 'malformed') ? new CodecError(error.message, { cause: error }) : failureOf(error);
  }
}

/** A failure of executing a block or flashblock, by its type. */
export function failureOf(error: unknown): unknown {
  if (hasCode(error, 'exhausted')) return new ExecutionLimitError(error.message, { cause: error });
  if (hasCode(error, 'unknown-fork')) return new UnknownForkError(error.message, { cause: error });
  if (hasCode(error, 'native')) return new NativeContractError(error.message, { cause: error });
  if (hasCode(error, 'unavailable')) return new StateUnavailableError(error.message);
  return refusalOf(error);
}

function refusalOf(error: unknown): unknown {
  // What does not have the form of a block is none.
  if (!hasCode(error, 'invalid-block', 'malformed')) return error;
  return new InvalidBlockError(error.message, { cause: error });
}
