import type { Corpus } from '../differential/corpus.ts';
import { asFields, blockIndex, paramsOf, withParam } from '../differential/request-shape.ts';
import { five, makeRequest } from '../differential/requests.ts';
import { Random } from '../support/random.ts';
import type { Call } from '../support/servers/rpc-client.ts';
import type { Catalogue } from '../support/workload/catalogue.ts';

/** Blocks that both servers hold and have the state of. */
export interface Window {
  readonly first: number;
  readonly last: number;
  /** Hashes of `first` to `last`. */
  readonly hashes: readonly string[];
  /** From here on both have logs and receipts. */
  readonly oldest: number;
}

/** How a request names its block. */
export type Naming =
  /** By number or hash, so that it means the same however far the chain goes on. */
  | 'pinned'
  /** By `latest`, by leaving it out, or by `pending` where that is the same. */
  | 'moving';

const quantity = (value: number): string => `0x${value.toString(16)}`;
const tags: readonly unknown[] = ['latest', 'safe', 'finalized', 'earliest', 'pending'];
const isNumber = (text: string): boolean => /^0x(0|[1-9a-f][0-9a-f]*)$/i.test(text) && text.length <= 18;
const farAbove = '0xffffffff';

/** The corpus of the differential test's generators, made of what this chain has. */
export function corpusOf(catalogue: Catalogue, window: Window): Corpus {
  const slots = new Set([0, 1, 2, 3, 4, 255].map((slot) => `0x${slot.toString(16).padStart(64, '0')}`));
  for (const { slot } of catalogue.filled) slots.add(slot);
  return {
    head: window.last,
    hashes: window.hashes,
    addresses: catalogue.addresses,
    contracts: catalogue.contracts,
    senders: catalogue.senders,
    slots: [...slots],
    filled: catalogue.filled,
    topics: catalogue.topics,
    emitters: catalogue.emitters,
    inputs: catalogue.inputs,
    codes: catalogue.codes,
    transactions: [],
  };
}

/** What a selector becomes so that both servers mean one block by it; what is broken stays broken. */
function pinSelector(selector: unknown, random: Random, window: Window): unknown {
  const number = (): string => quantity(random.between(window.first, window.last));
  const pinned = (): unknown =>
    random.weighted<unknown>([
      [4, number],
      [2, () => ({ blockHash: random.pick(window.hashes) })],
      [1, () => ({ blockNumber: number() })],
      [1, () => ({ blockHash: random.pick(window.hashes), requireCanonical: true })],
      [1, () => random.pick(window.hashes)],
    ]);
  if (selector === undefined || selector === null || tags.includes(selector)) return pinned();
  if (typeof selector === 'string' && isNumber(selector))
    return Number(selector) > window.last ? farAbove : number();
  const named = asFields(selector)?.['blockNumber'];
  if (named === undefined || typeof selector !== 'object') return selector;
  return { ...selector, blockNumber: tags.includes(named) ? number() : pinSelector(named, random, window) };
}

function pinBound(bound: unknown, random: Random, window: Window): unknown {
  if (bound === undefined || bound === null || tags.includes(bound))
    return quantity(random.between(window.oldest, window.last));
  if (typeof bound !== 'string' || !isNumber(bound)) return bound;
  if (Number(bound) > window.last) return farAbove;
  return quantity(Math.max(Number(bound), window.oldest));
}

function pinFilter(request: Call, random: Random, window: Window): Call {
  const filter = asFields(paramsOf(request)[0]);
  if (filter === undefined || filter['blockHash'] != null) return request;
  const fromBlock = pinBound(filter['fromBlock'], random, window);
  const toBlock = pinBound(filter['toBlock'], random, window);
  return withParam(request, 0, { ...filter, fromBlock, toBlock });
}

/** Says `latest` in one of its ways. */
function moveSelector(request: Call, at: number, random: Random): Call {
  const params = paramsOf(request);
  if (random.chance(0.2) && at > 0 && params.length <= at + 1)
    return { ...request, params: params.slice(0, at) };
  return withParam(
    request,
    at,
    random.pick<unknown>(['latest', 'latest', 'pending', { blockNumber: 'latest' }]),
  );
}

function moveFilter(request: Call, random: Random, window: Window): Call {
  const filter = asFields(paramsOf(request)[0]);
  if (filter === undefined || filter['blockHash'] != null) return request;
  const { fromBlock: _from, toBlock: _to, ...rest } = filter;
  const range = random.pick<object>([
    {},
    { fromBlock: 'latest', toBlock: 'latest' },
    { fromBlock: quantity(random.between(window.oldest, window.last)), toBlock: 'latest' },
    { fromBlock: quantity(random.between(window.oldest, window.last)) },
    { fromBlock: 'pending', toBlock: 'pending' },
    { fromBlock: quantity(random.between(window.oldest, window.last)), toBlock: 'pending' },
  ]);
  return withParam(request, 0, { ...rest, ...range });
}

const ourGasCap = 50_000_000;
const isPrecompile = (address: string): boolean =>
  /^0x[0-9a-f]{40}$/i.test(address) && BigInt(address) > 0n && BigInt(address) <= 0x100n;

/**
 * Leaves out what anvil answers in a way of its own: a wildcard at the end of `topics` asks for one topic more in
 * geth and for nothing in anvil; code put in the place of a precompile does not run there; gas has no cap, and
 * without a limit is that of the block, an overridden one too; a fee cap is taken for the price itself; overridden base
 * fees are charged in another way, or not seen at all; and above the head, where an overridden number leads, it makes hashes of blocks up.
 */
export function tamed(request: Call): Call {
  const [first, block, overrides, ...rest] = paramsOf(request);
  if (request.method === 'eth_getLogs') {
    const topics = asFields(first)?.['topics'];
    if (!Array.isArray(topics)) return request;
    const isAny = (position: unknown): boolean =>
      position === null || (Array.isArray(position) && (position.length === 0 || position.includes(null)));
    const last = topics.findLastIndex((position) => !isAny(position));
    const plain = topics.slice(0, last + 1).map((position) => (isAny(position) ? null : position));
    return withParam(request, 0, { ...asFields(first), topics: plain });
  }
  const call = asFields(first);
  if (request.method !== 'eth_call' || call === undefined) return request;
  const { maxFeePerGas: _max, maxPriorityFeePerGas: _tip, ...plainCall } = call;
  const { gas, ...unlimited } = plainCall;
  const isHigh = typeof gas === 'string' && isNumber(gas) && Number(gas) > ourGasCap;
  const kept = Object.entries(asFields(overrides) ?? {}).filter(([address]) => !isPrecompile(address));
  const {
    gasLimit: _limit,
    number: _number,
    baseFeePerGas: _fee,
    blobBaseFee: _blobFee,
    ...blockOverrides
  } = asFields(rest[0]) ?? {};
  const all = [
    isHigh ? unlimited : plainCall,
    block,
    Object.fromEntries(kept),
    blockOverrides,
    ...rest.slice(1),
  ];
  return { ...request, params: all.slice(0, paramsOf(request).length) };
}

/** Request number `index` of a run; the same for the same seed, catalogue and window. */
export async function replicaRequest(
  seed: number,
  index: number,
  corpus: Corpus,
  window: Window,
  naming: Naming,
): Promise<Call> {
  const request = await makeRequest(seed, index, corpus, five);
  // A stream of its own, so that it does not repeat the choices of the request.
  const random = new Random(seed ^ 0x5bd1e995, index);
  const at = blockIndex(request.method);
  const params = paramsOf(request);
  if (!Array.isArray(request.params)) return request;
  if (request.method === 'eth_getLogs') {
    return naming === 'pinned' ? pinFilter(request, random, window) : moveFilter(request, random, window);
  }
  // Too few parameters are refused whatever the block.
  if (params.length < at) return request;
  if (naming === 'moving') return moveSelector(request, at, random);
  return withParam(request, at, pinSelector(params[at], random, window));
}
