import type { Snapshot } from '../../head/snapshot.ts';
import type { MethodContext } from '../../methods/method.ts';
import type { ResponseBody } from './framing.ts';

/** What an answer was read from: a snapshot, and for a part of it maybe an upstream. */
export interface AnswerOrigin extends Pick<Snapshot, 'head' | 'pending'> {
  readonly source?: 'upstream';
}

/** The bytes that answer a request, and the HTTP status that goes with them; no body for notifications. */
export interface RpcResponse {
  readonly status: number;
  readonly body: ResponseBody | undefined;
  /** What the answer was read from, and no other; absent when it was refused before it got to a dispatcher. */
  readonly snapshot: AnswerOrigin | undefined;
  /** The calls whose results are in it: what they do beside it happens, and nothing that others wanted. */
  readonly answered?: readonly MethodContext[];
  /** How its body is compressed; absent where it is not. */
  readonly coding?: string;
  /** Seconds after which a client that was turned away may come again. */
  readonly retryAfter?: number | undefined;
}
