import type { Call } from '../support/servers/rpc-client.ts';
import { asFields, overridesOf, paramsOf } from './request-shape.ts';

/** What a matcher must know of the chain. */
export interface Chain {
  readonly head: number;
  readonly hashes: readonly string[];
}

// Where the official chain changes its rules, by block and by time; its blocks are ten seconds apart.
export const forks = {
  ...{ constantinople: 12, petersburg: 15, berlin: 24, london: 27, paris: 36 },
  ...{ shanghaiTime: 390, cancunTime: 420, pragueTime: 450 },
} as const;
export const secondsPerBlock = 10;

export interface CallContext {
  readonly isMerged: boolean;
  readonly time: number;
  readonly isConstantinople: boolean;
  readonly isBerlin: boolean;
  readonly isPrague: boolean;
}

/** The number of the block that a selector means. */
export function selectedNumber(selector: unknown, chain: Chain): number {
  const fields = asFields(selector);
  const chosen = fields?.['blockNumber'] ?? fields?.['blockHash'] ?? selector;
  if (typeof chosen !== 'string') return chain.head;
  if (chosen === 'earliest') return 0;
  const byHash = chain.hashes.indexOf(chosen.toLowerCase());
  if (byHash >= 0) return byHash;
  return chosen.startsWith('0x') ? Number(chosen) : chain.head;
}

/** The rules that geth runs a call by, its block overrides included. */
export function callContext(request: Call, chain: Chain): CallContext {
  const [, selector] = paramsOf(request);
  const overrides = asFields(overridesOf(request).block) ?? {};
  const header = selectedNumber(selector, chain);
  const number = typeof overrides['number'] === 'string' ? Number(overrides['number']) : header;
  const time = typeof overrides['time'] === 'string' ? Number(overrides['time']) : header * secondsPerBlock;
  const isMerged = (header >= forks.paris || overrides['prevRandao'] != null) && number >= forks.london;
  return {
    ...{ isMerged, time },
    isConstantinople: number >= forks.constantinople && number < forks.petersburg,
    isBerlin: number >= forks.berlin,
    isPrague: isMerged && time >= forks.pragueTime,
  };
}
