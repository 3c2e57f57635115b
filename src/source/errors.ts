import { CodedError } from '../primitives/errors.ts';

/**
 * What can go wrong with an upstream, and whether asking the same one again may help. A final failure of one upstream
 * says nothing about the others: the pool goes on to the next.
 */
const KINDS = {
  /** No connection, or it broke. */
  unreachable: 'retryable',
  timeout: 'retryable',
  /** It says that it cannot now: HTTP 5xx, internal error. */
  overloaded: 'retryable',
  rateLimited: 'retryable',
  /** Not JSON, not JSON-RPC, an answer left out, or a result of the wrong shape. */
  garbage: 'retryable',
  /** Our own queue to it is full. */
  busy: 'retryable',
  /** It does not have that block: it lags, or the block is gone. */
  unknownBlock: 'retryable',
  /** Every upstream is banned. */
  noUpstream: 'retryable',
  /** It has the block, but not its state any more. */
  stateUnavailable: 'final',
  /** It does not offer the method. */
  unsupported: 'final',
  /** One answer is larger than we take, or than it gives. */
  tooLarge: 'final',
  unauthorized: 'final',
  /** It does not take the request as it is. */
  refused: 'final',
  /** It is of another chain: nothing is asked of it. */
  otherChain: 'final',
} as const satisfies Record<string, 'retryable' | 'final'>;

export type SourceErrorCode = keyof typeof KINDS;

export interface SourceErrorType {
  readonly code: SourceErrorCode;
  /** Name of the upstream, without credentials; absent when none was asked. */
  readonly upstream?: string;
  /** How long it asked us to wait, within reason. */
  readonly retryAfterMs?: number;
}

/** Nobody has to wait longer because a server says so. */
const MAX_WAIT_MS = 60_000;

/** The wait that a server asks for, as far as it makes sense: what is no number asks for none. */
export function boundedWaitMs(ms: number): number | undefined {
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_WAIT_MS);
}

/** A read that an upstream, or in the end all of them, did not answer. Its text never holds a credential. */
export class SourceError extends CodedError<SourceErrorType> {
  get retryable(): boolean {
    return KINDS[this.type.code] === 'retryable';
  }
}

/** From the failure that leaves most hope to the one that leaves least; among equals the first counts. */
const TELLING: readonly SourceErrorCode[] = [
  'rateLimited',
  'busy',
  'timeout',
  'overloaded',
  'unreachable',
  'garbage',
  'unknownBlock',
  'noUpstream',
  'stateUnavailable',
  'tooLarge',
  'unsupported',
  'refused',
  'unauthorized',
  'otherChain',
];

/** One error for what several upstreams said: retryable if any of them may still answer. */
export function mostTelling(failures: readonly SourceError[]): SourceError {
  const sorted = [...failures].sort((a, b) => TELLING.indexOf(a.type.code) - TELLING.indexOf(b.type.code));
  const [first] = sorted;
  if (first === undefined) return new SourceError({ code: 'noUpstream' }, 'no upstream could be asked');
  if (sorted.length === 1) return first;
  const text = sorted.map((failure) => failure.message).join('; ');
  return new SourceError(first.type, text, { cause: new AggregateError(sorted) });
}
