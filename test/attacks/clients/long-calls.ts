import { randomBytes } from 'node:crypto';
import type { Hex } from 'viem';
import { ACTOR, followList, kzgProofs, pairings, signatures, unknownBalances } from '../evm.ts';
import { rpc, type Target } from '../target.ts';

const random = (bytes: number): Hex => `0x${randomBytes(bytes).toString('hex')}`;
const many = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => make(index));

/** A call of code that the caller brings. */
const callOf = (code: Hex, fields: object = {}, block = 'latest'): string =>
  rpc('eth_call', [{ to: ACTOR, ...fields }, block, { [ACTOR]: { code } }]);

/** Loops over accounts that nobody knows: each must be asked for upstream. */
export async function unknownState(target: Target): Promise<void> {
  let next = target.seed % 2 ** 30;
  await target.repeat(8, () => callOf(unknownBalances(next++)));
}

/** The contract that holds the list, and a block below the undo window. */
export interface ListPlace {
  readonly list: Hex;
  readonly block: Hex;
}

/** Follows a list of 700 slots at an old block, whose state is loaded slot by slot. */
export async function listsAtOldBlocks(target: Target, { list, block }: ListPlace): Promise<void> {
  const body = (): string => rpc('eth_call', [{ to: list }, block, { [list]: { code: followList } }]);
  await target.repeat(6, body);
}

const precompiles = (connections: number, code: Hex, fields?: object) => (target: Target) =>
  target.repeat(connections, () => callOf(code, fields));

export const invalidKzgProofs = precompiles(4, kzgProofs(false));
export const validKzgProofs = precompiles(1, kzgProofs(true));
/** As many as the inline budget would let through. */
export const fewInvalidKzgProofs = precompiles(2, kzgProofs(false), { gas: '0x36ee80' });
export const badPairings = precompiles(2, pairings(30, true));
export const goodPairings = precompiles(1, pairings(30, false));

/** Work before the first opcode: each field as long as a body allows. */
const fields = (make: () => readonly unknown[]) => async (target: Target) => {
  // Made once: whoever sends it must not be the one who is busy.
  const bodies = many(2, () => rpc('eth_call', make()));
  let next = 0;
  await target.repeat(2, () => bodies[next++ % bodies.length] ?? '');
};

const authorization = (index: number): object => ({
  ...{ chainId: '0x0', address: random(20), nonce: '0x0', yParity: `0x${index & 1}` },
  r: `0x7${random(32).slice(3)}`,
  s: `0x1${random(32).slice(3)}`,
});

export const authorizations = fields(() => [
  { to: ACTOR, authorizationList: many(1_980, authorization) },
  'latest',
]);
export const stateDiffs = fields(() => [
  { to: ACTOR },
  'latest',
  { [ACTOR]: { stateDiff: Object.fromEntries(many(37_000, () => [random(32), random(32)])) } },
]);
export const emptyOverrides = fields(() => [
  { to: ACTOR },
  'latest',
  Object.fromEntries(many(80_000, () => [random(20), {}])),
]);
export const longCode = fields(() => [
  { to: ACTOR },
  'latest',
  { [ACTOR]: { code: `0x${'5b'.repeat(2_500_000)}` } },
]);
export const accessLists = fields(() => [
  { to: ACTOR, accessList: many(19_000, () => ({ address: random(20), storageKeys: [] })) },
  'latest',
]);
export const accessListSlots = fields(() => [
  { to: ACTOR, accessList: [{ address: ACTOR, storageKeys: many(25_000, () => random(32)) }] },
  'latest',
]);
export const longCallData = fields(() => [{ to: ACTOR, data: `0x${'00'.repeat(2_500_000)}` }, 'latest']);

/** Many filters' worth of values in one query, and queries that match nothing over all that is held. */
export async function wideLogQueries(target: Target): Promise<void> {
  const body = rpc('eth_getLogs', [
    {
      ...{ fromBlock: 'earliest', toBlock: 'latest' },
      address: many(1_000, () => random(20)),
      topics: many(4, () => many(1_000, () => random(32))),
    },
  ]);
  await target.repeat(2, () => body);
}

/** All logs of all blocks, again and again. */
export async function allLogs(target: Target): Promise<void> {
  await target.repeat(4, () => rpc('eth_getLogs', [{ fromBlock: 'earliest', toBlock: 'latest' }]));
}

/** Calls just below what runs on the serving thread. */
export async function justInline(target: Target): Promise<void> {
  await target.repeat(100, () => callOf(signatures, { gas: '0xf4240' }));
}

/** Calls that fill the pool. */
export async function fullPool(target: Target): Promise<void> {
  await target.repeat(100, () => callOf(signatures));
}
