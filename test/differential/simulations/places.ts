import type { Call } from '../../support/servers/rpc-client.ts';
import { type Chain, forks, secondsPerBlock, selectedNumber } from '../context.ts';
import { asFields, type Fields, paramsOf } from '../request-shape.ts';

/** A block of a simulation as it is asked for, with the rules that it comes under. */
export interface Place {
  readonly block: Fields;
  readonly isConstantinople: boolean;
  readonly isLondon: boolean;
  readonly isMerged: boolean;
}

const secondsBetween = 12;

const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map((one) => asFields(one) ?? {}) : [];

/** Blocks of a simulation as they are asked for. */
export function blocksOf(request: Call): readonly Fields[] {
  if (request.method !== 'eth_simulateV1') return [];
  return listOf(asFields(paramsOf(request)[0])?.['blockStateCalls']);
}

/** Calls of all its blocks. */
export function callsOf(request: Call): readonly Fields[] {
  return blocksOf(request).flatMap((block) => listOf(block['calls']));
}

/** Where each block of a simulation is; what does not stand in order is refused by both. */
export function placesOf(request: Call, chain: Chain): readonly Place[] {
  let number = selectedNumber(paramsOf(request)[1], chain);
  let time = number * secondsPerBlock;
  return blocksOf(request).map((block) => {
    const fields = asFields(block['blockOverrides']);
    const asked = typeof fields?.['number'] === 'string' ? Number(fields['number']) : number + 1;
    time =
      typeof fields?.['time'] === 'string'
        ? Number(fields['time'])
        : time + secondsBetween * (asked - number);
    number = asked;
    return {
      block,
      isConstantinople: number >= forks.constantinople && number < forks.petersburg,
      isLondon: number >= forks.london,
      isMerged: number >= forks.paris || time >= forks.shanghaiTime,
    };
  });
}
