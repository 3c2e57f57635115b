import { HeadError, type HeadErrorType } from '../../head/errors.ts';
import { MethodError, type MethodErrorType } from '../../methods/errors.ts';
import {
  CodedError,
  InvalidParamsError,
  OverloadedError,
  StateLimitError,
  StateUnavailableError,
} from '../../primitives/errors.ts';
import type { Refusal } from '../../telemetry/refusal-counter.ts';

/** A JSON-RPC error, and the HTTP status of a response that is nothing but this error. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  /** Hex or other plain text; bytes are its JSON. */
  readonly data?: string | Buffer;
  readonly status?: number;
  /** Seconds after which it may be otherwise. */
  readonly retryAfter?: number;
}

/** What goes wrong before a method runs. */
export type RpcErrorType =
  | { readonly code: 'PARSE_ERROR'; readonly reason: string }
  | { readonly code: 'INVALID_REQUEST'; readonly reason: string }
  | { readonly code: 'METHOD_NOT_FOUND'; readonly method: string }
  | { readonly code: 'METHOD_NOT_PUBLIC'; readonly method: string }
  | { readonly code: 'METHOD_NOT_GRANTED'; readonly method: string; readonly by: 'key' | 'endpoint' }
  | { readonly code: 'UNAUTHORIZED' }
  | { readonly code: 'RATE_LIMITED'; readonly seconds: number }
  | { readonly code: 'ACCESS_REFUSED'; readonly by: 'host' | 'origin' }
  | { readonly code: 'RESPONSE_TOO_LARGE'; readonly maxBytes: number }
  | { readonly code: 'BODY_TOO_LARGE'; readonly maxBytes: number }
  | { readonly code: 'BAD_AT_LEAST'; readonly header: string }
  | {
      readonly code: 'NOT_REACHED';
      readonly header: string;
      readonly point: string;
      readonly head: number;
      readonly milliseconds: number;
    };

export class RpcFailure extends CodedError<RpcErrorType> {}

/** All that can go wrong, by its code. */
export type ErrorType =
  | RpcErrorType
  | HeadErrorType
  | MethodErrorType
  | InvalidParamsError['type']
  | StateUnavailableError['type']
  | StateLimitError['type']
  | OverloadedError['type'];

/** The one mapping from what can go wrong to what a client is told. */
export function toRpcError(error: unknown): RpcError {
  if (error instanceof HeadError) return rpcErrorOf(error.type);
  if (error instanceof MethodError) return rpcErrorOf(error.type);
  if (error instanceof RpcFailure) return rpcErrorOf(error.type);
  if (error instanceof InvalidParamsError) return rpcErrorOf(error.type);
  if (error instanceof StateUnavailableError) return rpcErrorOf(error.type);
  if (error instanceof StateLimitError) return rpcErrorOf(error.type);
  if (error instanceof OverloadedError) return rpcErrorOf(error.type);
  // Anything else is a fault of the node or what it stands on: its words are for the log, not for the client.
  return { code: -32002, message: 'resource unavailable' };
}

/** Whether an error is part of the contract; one that is not belongs in the log. */
export function isExpected(error: unknown): boolean {
  return error instanceof CodedError;
}

/** What a call that failed so was turned away for; undefined when it was answered. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof RpcFailure && error.type.code === 'METHOD_NOT_PUBLIC') return 'not_public';
  if (error instanceof RpcFailure && error.type.code === 'METHOD_NOT_GRANTED') return 'not_granted';
  if (error instanceof OverloadedError) return 'overloaded';
  if (!(error instanceof MethodError)) return undefined;
  if (error.type.code === 'OVERLOADED') return 'overloaded';
  if (error.type.code === 'FILTER_REFUSED') return 'filters';
  return error.type.code === 'SUBSCRIPTION_REFUSED' ? 'subscriptions' : undefined;
}

/** What a client is told of it. docs/errors.md is made of this. */
export function rpcErrorOf(type: ErrorType): RpcError {
  switch (type.code) {
    case 'PARSE_ERROR':
      return { code: -32700, message: type.reason };
    case 'INVALID_REQUEST':
      return { code: -32600, message: type.reason };
    case 'METHOD_NOT_FOUND':
      return { code: -32601, message: `the method ${type.method} does not exist/is not available` };
    case 'METHOD_NOT_PUBLIC':
      return {
        code: -32004,
        message: `the method ${type.method} is not available on public endpoints`,
        status: 403,
      };
    case 'METHOD_NOT_GRANTED':
      return {
        code: -32004,
        message: `the method ${type.method} is not available ${type.by === 'key' ? 'with this key' : 'on this endpoint'}`,
        status: 403,
      };
    case 'UNAUTHORIZED':
      return { code: -32600, message: 'unauthorized: a valid API key or token is needed', status: 401 };
    case 'RATE_LIMITED':
      return {
        code: 429,
        message: `too many requests, rate limit exceeded: try again in ${type.seconds.toFixed(1)} s`,
        status: 429,
        retryAfter: Math.ceil(type.seconds),
      };
    case 'INVALID_PARAMS':
      return { code: -32602, message: type.reason };
    case 'BLOCK_NOT_FOUND':
      return {
        code: -32001,
        message:
          type.lowest === undefined
            ? `block not found: ${type.block}`
            : `block not found: ${type.block}: the lowest block held is ${type.lowest}`,
      };
    case 'NOT_CANONICAL':
      return { code: -32001, message: `block not found: ${type.hash} is not canonical` };
    case 'STATE_NOT_HELD':
      // Not -32001: the block is there, and its logs and receipts are served.
      return {
        code: -32002,
        message: `state of block ${type.block} is not available: the lowest block with state is ${type.lowest}`,
      };
    case 'NOT_INDEXED':
      return {
        code: -32002,
        message: `resource unavailable: transactions of blocks below ${type.above} are being indexed`,
      };
    case 'REORGANISED':
      return { code: -32002, message: 'resource unavailable: the chain was reorganised during the request' };
    case 'STATE_UNAVAILABLE':
      return { code: -32002, message: `resource unavailable: ${type.reason}` };
    case 'STATE_LIMIT':
      return {
        code: -32000,
        message:
          type.what === 'values'
            ? `the request reads too much state that is not held here, at most ${type.limit} values`
            : `the request loads too much state, at most ${type.limit} bytes`,
      };
    case 'CALL_REVERTED':
      return {
        code: type.standard ? 3 : -32000,
        message: type.reason === undefined ? 'execution reverted' : `execution reverted: ${type.reason}`,
        data: type.data,
      };
    case 'CALL_FAILED':
      return { code: -32000, message: type.reason };
    case 'SIMULATION_REFUSED':
      return { code: type.rpcCode, message: type.reason };
    case 'TIME_LIMIT':
      return {
        code: -32000,
        message: `${type.what} exceeded the time limit of ${type.milliseconds / 1000} s`,
      };
    case 'NATIVE_CONTRACT':
      return {
        code: -32002,
        message:
          `resource unavailable: the call enters the native contract ${type.address}, which cannot be run ` +
          (type.isPending ? 'on pre-confirmed state' : 'here'),
      };
    case 'UNKNOWN_RULES':
      return {
        code: -32002,
        message: `resource unavailable: the rules of block ${type.block} are not known here`,
      };
    case 'NOT_AVAILABLE':
      return { code: -32601, message: `the method ${type.method} does not exist/is not available` };
    case 'UPSTREAM_ERROR':
      return {
        code: type.number,
        message: type.message,
        ...(type.data !== undefined && { data: Buffer.from(type.data) }),
      };
    case 'NOT_SENT':
      return { code: -32002, message: `resource unavailable: ${type.reason}` };
    case 'NOT_SEEN':
      return {
        code: 4,
        message: `the transaction was sent, but there is no receipt after ${type.milliseconds / 1000} s`,
        data: type.hash,
      };
    case 'NOT_READY':
      return {
        code: 5,
        message:
          `the transaction was sent, but is not ready: its nonce is ${type.nonce}, ` +
          `the next one of the account is ${type.next}`,
        data: type.hash,
      };
    case 'CANCELLED':
      return { code: -32000, message: 'request cancelled' };
    case 'OVERLOADED':
      return { code: -32005, message: 'the node is overloaded, try again later', status: 503 };
    case 'NO_NOTIFICATIONS':
      // As geth: the method exists, but not over HTTP.
      return { code: -32601, message: 'notifications not supported' };
    case 'SUBSCRIPTION_REFUSED':
    case 'FILTER_REFUSED':
      return { code: -32000, message: type.reason };
    case 'FILTER_NOT_FOUND':
      // As geth: viem makes another filter when it reads this code.
      return { code: -32000, message: `filter not found: ${type.reason}` };
    case 'ACCESS_REFUSED':
      return {
        code: -32004,
        message: `this ${type.by} is not allowed here, see --allowed-hosts`,
        status: 403,
      };
    case 'RESPONSE_TOO_LARGE':
      return { code: -32003, message: `response too large, at most ${type.maxBytes} bytes` };
    case 'BODY_TOO_LARGE':
      return { code: -32600, message: `request body too large, at most ${type.maxBytes} bytes`, status: 413 };
    case 'BAD_AT_LEAST':
      return {
        code: -32600,
        message: `${type.header} must be a decimal block number, or <number>;<flashblock index>`,
        status: 400,
      };
    case 'NOT_REACHED':
      return {
        code: -32001,
        message:
          `not reached within ${type.milliseconds / 1000} s: ` +
          `${type.header} asks for block ${type.point}, the head is block ${type.head}`,
      };
  }
}
