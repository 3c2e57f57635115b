import { isDeepStrictEqual } from 'node:util';
import type { Answer, Call } from '../support/servers/rpc-client.ts';
import { kindOf } from './kinds.ts';

/** One request with what both servers said. `asked` is what geth was asked, when the contract gives it another meaning. */
export interface Exchange {
  readonly request: Call;
  readonly geth: Answer;
  readonly ours: Answer;
}

/** Results as JSON; errors by code and kind, and reverts by their data too. */
export function agree(geth: Answer, ours: Answer): boolean {
  if ('error' in geth && 'error' in ours) {
    const kind = kindOf(geth.error);
    if (geth.error.code !== ours.error.code || kind !== kindOf(ours.error)) return false;
    return (
      kind !== 'revert' || (geth.error.data === ours.error.data && geth.error.message === ours.error.message)
    );
  }
  return (
    'result' in geth &&
    'result' in ours &&
    isDeepStrictEqual(comparable(geth.result), comparable(ours.result))
  );
}

/** A result as it is compared: faults inside of it by their kind, as those of a whole request. */
export function comparable(result: unknown): unknown {
  return withKinds(inOrder(result));
}

function withKinds(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withKinds);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, key === 'error' ? faultOf(inner) : withKinds(inner)]),
  );
}

/** What is said of a fault inside of a result: words, or words with a code; those of a revert are the same in both. */
function faultOf(error: unknown): unknown {
  if (typeof error === 'string') return kindOf({ code: -32000, message: error });
  if (typeof error !== 'object' || error === null || !('message' in error)) return withKinds(error);
  const message = String(error.message);
  const kind = kindOf({ code: -32000, message });
  return { ...error, message: kind === 'revert' ? message : kind };
}

/** geth gives the accounts and slots of an access list in no order, and words faults as in errors. */
function inOrder(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('accessList' in result)) return result;
  const list = result.accessList as readonly {
    readonly address: string;
    readonly storageKeys: readonly string[];
  }[];
  const sorted = list.map(({ address, storageKeys }) => ({ address, storageKeys: storageKeys.toSorted() }));
  // Which fault is found first differs, as in errors: what it cost does not.
  const error = 'error' in result && {
    error: /execution reverted/.test(String(result.error)) ? 'revert' : 'fault',
  };
  return { ...result, ...error, accessList: sorted.toSorted((a, b) => a.address.localeCompare(b.address)) };
}

/** Where two values first differ, and how: answers may be long. */
export function firstDifference(geth: unknown, ours: unknown, path = ''): string | undefined {
  if (isDeepStrictEqual(geth, ours)) return undefined;
  if (typeof geth !== 'object' || typeof ours !== 'object' || geth === null || ours === null) {
    return `${path}: ${JSON.stringify(geth)} against ${JSON.stringify(ours)}`;
  }
  const [theirs, own] = [geth as Record<string, unknown>, ours as Record<string, unknown>];
  const keys = [...new Set([...Object.keys(theirs), ...Object.keys(own)])];
  const key = keys.find((name) => !isDeepStrictEqual(theirs[name], own[name])) ?? '';
  return firstDifference(theirs[key], own[key], `${path}/${key}`);
}

/** A wrong answer, wrong in one small way, that no comparison may let through. */
export function spoil(answer: Answer): Answer {
  if ('error' in answer)
    return { error: { ...answer.error, code: answer.error.code + 1, message: 'spoilt' } };
  return { result: spoilResult(answer.result) };
}

function spoilResult(result: unknown): unknown {
  if (result === null) return [];
  if (Array.isArray(result)) return result.length === 0 ? null : result.slice(0, -1);
  if (typeof result !== 'string') return null;
  const last = result.at(-1);
  return `${result.slice(0, -1)}${last === '0' ? '1' : '0'}`;
}
