import { CodedError } from '../primitives/errors.ts';
import type { Hex } from '../primitives/hex.ts';

/** Why a method cannot answer, beyond bad parameters and unknown blocks. */
export type MethodErrorType =
  /** `reason` is the decoded one, and only set where the standard's wording is asked for. */
  | {
      readonly code: 'CALL_REVERTED';
      /** Bytes are its JSON. */
      readonly data: Hex | Buffer;
      readonly standard: boolean;
      readonly reason?: string;
    }
  /** An EVM fault, or a call that could not start; the executor words it. */
  | { readonly code: 'CALL_FAILED'; readonly reason: string }
  | {
      readonly code: 'TIME_LIMIT';
      readonly what: 'call' | 'query' | 'request' | 'simulation';
      readonly milliseconds: number;
    }
  /** What cannot be simulated; the executor words it, and gives it a code of execution-apis. */
  | { readonly code: 'SIMULATION_REFUSED'; readonly rpcCode: number; readonly reason: string }
  /** The call enters a native contract, and nobody runs it for us. */
  | { readonly code: 'NATIVE_CONTRACT'; readonly address: Hex; readonly isPending: boolean }
  /** The rules of the block are not known here, and nobody answers for us. */
  | { readonly code: 'UNKNOWN_RULES'; readonly block: number }
  /** Nobody is there who could do it. */
  | { readonly code: 'NOT_AVAILABLE'; readonly method: string }
  /** What an upstream says against a request that was passed on. `data` is JSON. */
  | {
      readonly code: 'UPSTREAM_ERROR';
      readonly number: number;
      readonly message: string;
      readonly data?: string | undefined;
    }
  /** A transaction that nobody took: no block of this chain has to do with it. */
  | { readonly code: 'NOT_SENT'; readonly reason: string }
  /** A transaction that was sent had no receipt in time. */
  | { readonly code: 'NOT_SEEN'; readonly hash: Hex; readonly milliseconds: number }
  /** The same, as the account has not sent those before it. */
  | { readonly code: 'NOT_READY'; readonly hash: Hex; readonly nonce: number; readonly next: number }
  | { readonly code: 'CANCELLED' }
  | { readonly code: 'OVERLOADED' }
  /** The connection cannot carry what the client subscribes to. */
  | { readonly code: 'NO_NOTIFICATIONS' }
  | { readonly code: 'SUBSCRIPTION_REFUSED'; readonly reason: string }
  | { readonly code: 'FILTER_NOT_FOUND'; readonly reason: string }
  | { readonly code: 'FILTER_REFUSED'; readonly reason: string };

export class MethodError extends CodedError<MethodErrorType> {}
