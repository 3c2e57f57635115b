import type { Hex } from '../../primitives/hex.ts';
import { MethodError } from '../errors.ts';

/** Nodes behind one balancer do not know of each other's filters. */
const NOT_KEPT = 'it has ended, or was made at another node';

/** What a filter is of. */
export type FilterCriteria =
  /** `filter` is as the client wrote it, and has been read without an error. */
  { readonly kind: 'logs'; readonly filter: object } | { readonly kind: 'blocks' | 'transactions' };

/** What one answer may have. */
export interface FilterLimits {
  readonly maxResults: number;
  readonly maxBytes: number;
}

/** What whoever keeps the filters of all threads is asked. */
export type FilterQuestion =
  | { readonly op: 'create'; readonly criteria: FilterCriteria; readonly client: string }
  | { readonly op: 'poll'; readonly filter: string; readonly limits: FilterLimits }
  | { readonly op: 'read'; readonly filter: string }
  | FilterOrder;

/** What it is told. */
export type FilterOrder =
  /** The answer to a poll was sent; or it was not, and its changes are to be told again. */
  | { readonly op: 'settle'; readonly filter: string; readonly poll: number; readonly isSent: boolean }
  | { readonly op: 'remove'; readonly filter: string };

export type FilterAnswer =
  | { readonly kind: 'created'; readonly filter: Hex }
  /** The JSON array of changes; `poll` counts answers. With `version` there is nothing more to tell while that of all filters stays. */
  | {
      readonly kind: 'changes';
      readonly json: string;
      readonly poll: number;
      readonly version?: number | undefined;
    }
  | { readonly kind: 'criteria'; readonly criteria: FilterCriteria }
  | { readonly kind: 'done' }
  | { readonly kind: 'unknown'; readonly reason?: string | undefined }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'overloaded' }
  /** By a fault of the node, which has been logged where it happened. */
  | { readonly kind: 'failed' };

/** Whoever keeps the filters of all threads, as one thread reaches it. */
export interface FilterHost {
  /** Whether it is known without asking that a poll of this filter tells nothing now. */
  hasNothingNew(filter: string): boolean;
  ask(question: FilterQuestion): Promise<FilterAnswer>;
  tell(order: FilterOrder): void;
}

/** The answer of the kind that was asked for; throws what any other one means. */
export async function answerOf<K extends FilterAnswer['kind']>(
  asked: Promise<FilterAnswer>,
  kind: K,
): Promise<Extract<FilterAnswer, { kind: K }>> {
  const answer = await asked;
  switch (answer.kind) {
    case 'unknown':
      throw new MethodError({ code: 'FILTER_NOT_FOUND', reason: answer.reason ?? NOT_KEPT });
    case 'refused':
      throw new MethodError({ code: 'FILTER_REFUSED', reason: answer.reason });
    case 'overloaded':
      throw new MethodError({ code: 'OVERLOADED' });
    case 'failed':
      throw new Error('the thread that keeps filters failed to answer');
    case 'created':
    case 'changes':
    case 'criteria':
    case 'done':
      if (answer.kind !== kind) throw new Error(`a filter answered ${answer.kind} for ${kind}`);
      return answer as Extract<FilterAnswer, { kind: K }>;
  }
}
