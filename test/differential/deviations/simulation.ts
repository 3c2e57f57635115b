import { isDeepStrictEqual } from 'node:util';
import { comparable } from '../compare.ts';
import type { Chain } from '../context.ts';
import { asFields, type Fields, holds, paramsOf, withParam } from '../request-shape.ts';
import { blocksOf, callsOf, placesOf } from '../simulations/places.ts';
import { type Deviation, errorOf, refuses } from './deviation.ts';
import { sameFaults } from './trace.ts';

const withdrawalFields = 4;
const emptyRoot = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421';
const mostBlocks = 256;
const quantity = /^0x(0|[1-9a-f][0-9a-f]{0,63})$/i;
/** Bytes that a withdrawals root, an empty list and longer lengths add to a block. */
const extraBytes = { least: 34, most: 36 };

/** Without the chain id that op-geth gives a transaction which nobody signed. */
function unsigned(transaction: unknown): unknown {
  const fields = asFields(transaction);
  if (fields?.['type'] !== '0x0' || fields['v'] !== '0x0') return transaction;
  const { chainId: _chainId, ...rest } = fields;
  return rest;
}

/** Blocks of op-geth as they were without a withdrawals root before Shanghai; each is known by the hash that ours has. */
function asOurs(geth: readonly Fields[], ours: readonly Fields[]): readonly Fields[] {
  let isRehashed = false;
  const renamed = new Map<string, string>();
  const blocks = geth.map((block, at) => {
    const own = ours[at] ?? {};
    const isEarly = block['withdrawalsRoot'] === emptyRoot && own['withdrawalsRoot'] === undefined;
    isRehashed ||= isEarly;
    if (isRehashed) renamed.set(String(block['hash']).slice(2), String(own['hash']).slice(2));
    // From Prague on the state holds the hash of the block before.
    const keepsHashes = isRehashed && !isEarly && block['requestsHash'] !== undefined;
    const state = keepsHashes ? { stateRoot: own['stateRoot'] } : {};
    const { withdrawalsRoot: _root, withdrawals: _list, ...rest } = block;
    const extra = Number(block['size']) - Number(own['size']);
    const isLonger = extra >= extraBytes.least && extra <= extraBytes.most;
    const transactions = (block['transactions'] as readonly unknown[]).map(unsigned);
    if (!isEarly) return { ...block, ...state, transactions };
    return isLonger ? { ...rest, transactions, size: own['size'] } : { ...block, transactions };
  });
  const text = JSON.stringify(blocks).replaceAll(/[0-9a-f]{64}/g, (hash) => renamed.get(hash) ?? hash);
  return JSON.parse(text) as readonly Fields[];
}

const ether = `0x${'e'.repeat(40)}`;

/** Whether a log is of ether that goes to where it is: a contract that destroys itself in favour of itself has one in geth. */
function isToItself(log: Fields): boolean {
  const topics = log['topics'] as readonly string[];
  return log['address'] === ether && topics[1] === topics[2];
}

/** Blocks without such logs, and with the others counted as if they were not there. */
function withoutIdle(blocks: readonly Fields[]): readonly Fields[] {
  return blocks.map((block) => {
    const calls = block['calls'] as readonly Fields[];
    const logsOf = (call: Fields): readonly Fields[] => call['logs'] as readonly Fields[];
    const idle = calls.flatMap(logsOf).filter(isToItself);
    if (idle.length === 0) return block;
    const before = (log: Fields): number =>
      idle.filter((one) => Number(one['logIndex']) < Number(log['logIndex'])).length;
    const kept = (call: Fields): readonly Fields[] =>
      logsOf(call)
        .filter((log) => !isToItself(log))
        .map((log) => ({ ...log, logIndex: Number(log['logIndex']) - before(log) }));
    return { ...block, calls: calls.map((call) => ({ ...call, logs: kept(call).map(numbered) })) };
  });
}

const numbered = (log: Fields): Fields => ({ ...log, logIndex: `0x${Number(log['logIndex']).toString(16)}` });

/** Fields that a block of these rules does not have. */
function withoutForeign(block: Fields, isLondon: boolean, isMerged: boolean): Fields {
  const fields = asFields(block['blockOverrides']);
  if (fields === undefined) return block;
  const foreign = [...(isLondon ? [] : ['baseFeePerGas']), ...(isMerged ? ['difficulty'] : [])];
  // What cannot be read is refused by both.
  const isForeign = (name: string, value: unknown): boolean =>
    foreign.includes(name) && typeof value === 'string' && quantity.test(value);
  const kept = Object.entries(fields).filter(([name, value]) => !isForeign(name, value));
  return { ...block, blockOverrides: Object.fromEntries(kept) };
}

const known = new Set([
  ...'number difficulty time gasLimit feeRecipient prevRandao baseFeePerGas'.split(' '),
  ...'blobBaseFee beaconRoot withdrawals'.split(' '),
  ...'balance nonce code state stateDiff movePrecompileToAddress'.split(' '),
]);
const isStrange = (fields: unknown): boolean =>
  Object.keys(asFields(fields) ?? {}).some((name) => !known.has(name));

/** Whether some call or override is one that we refuse before anything is run. */
function holdsRefused(call: Fields): boolean {
  const isPriced = call['maxFeePerGas'] != null || call['maxPriorityFeePerGas'] != null;
  return (
    call['chainId'] != null ||
    (call['gasPrice'] != null && isPriced) ||
    (call['data'] != null && call['input'] != null && call['data'] !== call['input'])
  );
}

function overridesRefused(block: Fields): boolean {
  const accounts = Object.values(asFields(block['stateOverrides']) ?? {}).map(asFields);
  const withdrawals = asFields(block['blockOverrides'])?.['withdrawals'];
  const isPartial = (one: unknown): boolean => Object.keys(asFields(one) ?? {}).length < withdrawalFields;
  return (
    (Array.isArray(withdrawals) && withdrawals.some(isPartial)) ||
    isStrange(block['blockOverrides']) ||
    accounts.some(
      (account) => isStrange(account) || (account?.['state'] != null && account['stateDiff'] != null),
    )
  );
}

/** Deviations of simulations. */
export const simulationDeviations = (chain: Chain): readonly Deviation[] => [
  {
    id: 'simulated-fields',
    means: (request) => {
      const places = placesOf(request, chain);
      const payload = asFields(paramsOf(request)[0]);
      const blocks = places.map(({ block, isLondon, isMerged }) => withoutForeign(block, isLondon, isMerged));
      // A list that cannot be read is asked as it is.
      if (places.length === 0 || isDeepStrictEqual(blocks, payload?.['blockStateCalls'])) return undefined;
      const given = payload?.['blockStateCalls'];
      if (!Array.isArray(given) || given.some((block) => asFields(block) === undefined)) return undefined;
      return { call: withParam(request, 0, { ...payload, blockStateCalls: blocks }) };
    },
  },
  {
    id: 'simulated-blocks',
    allows: ({ request, geth, ours }) => {
      if (request.method !== 'eth_simulateV1' || 'error' in geth || 'error' in ours) return false;
      if (!Array.isArray(geth.result) || !Array.isArray(ours.result)) return false;
      const [theirs, own] = [withoutIdle(asOurs(geth.result, ours.result)), withoutIdle(ours.result)];
      return isDeepStrictEqual(sameFaults(comparable(theirs)), sameFaults(comparable(own)));
    },
  },
  {
    id: 'simulated-collision',
    allows: ({ request, geth, ours }) => {
      if (request.method !== 'eth_simulateV1' || 'error' in geth || 'error' in ours) return false;
      if (!Array.isArray(geth.result) || !Array.isArray(ours.result)) return false;
      const [theirs, own] = [geth.result, ours.result].map((blocks) =>
        (comparable(blocks) as readonly Fields[]).flatMap((block) => block['calls'] as readonly Fields[]),
      );
      const at = theirs?.findIndex((call, index) => call['status'] !== own?.[index]?.['status']) ?? -1;
      const hasSlots = holds(request, (key) => key === 'state' || key === 'stateDiff');
      return hasSlots && asFields(theirs?.[at]?.['error'])?.['message'] === 'collision';
    },
  },
  {
    id: 'simulated-fees',
    allows: ({ geth, ours }) => {
      const [theirs, own] = [errorOf(geth), errorOf(ours)];
      const isLow = own?.code === -38012 && /less than block base fee/.test(own.message);
      return isLow && theirs?.code === -32602 && theirs.message === own.message;
    },
  },
  {
    id: 'simulated-refusal',
    allows: ({ request, geth, ours }) => {
      if (errorOf(ours)?.code === -38026) return blocksOf(request).length > mostBlocks && refuses(geth);
      if (!refuses(ours)) return false;
      return callsOf(request).some(holdsRefused) || blocksOf(request).some(overridesRefused);
    },
  },
];
