import type { Answer, Call } from '../../support/servers/rpc-client.ts';
import type { Exchange } from '../compare.ts';
import { kindOf } from '../kinds.ts';

/** What geth is asked, or would have to say, for a request that our contract gives another meaning. */
export type Meaning = { readonly call: Call } | { readonly answer: Answer };

/** A difference that docs/differential.md allows. */
export interface Deviation {
  readonly id: string;
  /** It comes from part A of the contract and is gone under `--compat execution-apis`. */
  readonly contractOnly?: true;
  means?(request: Call): Meaning | undefined;
  allows?(exchange: Exchange): boolean;
}

export interface Failure {
  readonly code: number;
  readonly kind: string;
  readonly message: string;
  readonly data?: unknown;
}

export function errorOf(answer: Answer): Failure | undefined {
  return 'error' in answer ? { ...answer.error, kind: kindOf(answer.error) } : undefined;
}

/** Bad params, by our contract. */
export function refuses(answer: Answer): boolean {
  return errorOf(answer)?.code === -32602;
}

/** The kind by the words of a message alone, whatever its code. */
export function wordsOf(answer: Answer): string {
  return 'error' in answer ? kindOf({ ...answer.error, code: -32000 }) : '';
}

export function isEmptyList(answer: Answer): boolean {
  return 'result' in answer && Array.isArray(answer.result) && answer.result.length === 0;
}
