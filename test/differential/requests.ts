import { Random } from '../support/random.ts';
import type { Call } from '../support/servers/rpc-client.ts';
import { blockMethods, blockParams } from './block-requests.ts';
import { accessListParams, callParams, estimateParams } from './calls.ts';
import type { Corpus } from './corpus.ts';
import { mutate } from './mutate.ts';
import { anyAddress } from './programs.ts';
import { blockNumber, selector, tag } from './selectors.ts';
import { simulationParams } from './simulations/requests.ts';
import { traceMethods, traceParams } from './traces/requests.ts';

function checksummed(random: Random, address: string): string {
  // Not a real checksum: servers must not care about the case of hex.
  return random.chance(0.1)
    ? `0x${address.slice(2).replace(/[a-f]/g, (digit) => (random.chance(0.5) ? digit.toUpperCase() : digit))}`
    : address;
}

function storageKey(random: Random, corpus: Corpus): unknown {
  const slot = random.pick(corpus.slots);
  return random.weighted<unknown>([
    [10, () => slot],
    [4, () => `0x${BigInt(slot).toString(16)}`],
    [2, () => random.hex(random.between(1, 32))],
    [1, () => random.hex(random.between(1, 32)).slice(0, -1)],
    [
      2,
      () =>
        random.pick<unknown>([
          '0x',
          '',
          'x',
          '0xzz',
          `${slot}0`,
          `${slot}00`,
          slot.slice(2),
          slot.toUpperCase(),
          1,
          null,
          [],
          '0x 1',
        ]),
    ],
  ]);
}

function topicFilter(random: Random, corpus: Corpus): unknown {
  const topic = (): string => (random.chance(0.85) ? random.pick(corpus.topics) : random.hex(32));
  const position = (): unknown =>
    random.weighted<unknown>([
      [4, () => null],
      [5, topic],
      [4, () => random.list(random.below(4), topic)],
      [1, () => [null, topic()]],
      [1, () => [topic(), null]],
    ]);
  return random.list(random.pick([0, 1, 1, 2, 2, 3, 4, 5]), position);
}

function logFilter(random: Random, corpus: Corpus): Record<string, unknown> {
  const filter: Record<string, unknown> = {};
  const bound = (): unknown =>
    random.weighted<unknown>([
      [12, () => blockNumber(random, corpus)],
      [5, () => tag(random)],
      [1, () => `0x${(corpus.head + random.between(1, 10)).toString(16)}`],
      [1, () => null],
    ]);
  const emitter = (): string =>
    checksummed(random, random.chance(0.8) ? random.pick(corpus.emitters) : anyAddress(random, corpus));
  if (random.chance(0.25)) {
    filter['blockHash'] = random.chance(0.9) ? random.pick(corpus.hashes) : random.hex(32);
    if (random.chance(0.15)) filter['fromBlock'] = bound();
    if (random.chance(0.1)) filter['toBlock'] = bound();
  } else {
    const [from, to] = random.list(2, () => random.below(corpus.head + 1)).toSorted((a, b) => a - b);
    if (random.chance(0.6)) {
      Object.assign(filter, {
        fromBlock: `0x${(from ?? 0).toString(16)}`,
        toBlock: `0x${(to ?? 0).toString(16)}`,
      });
    } else {
      if (random.chance(0.8)) filter['fromBlock'] = bound();
      if (random.chance(0.8)) filter['toBlock'] = bound();
    }
  }
  if (random.chance(0.4))
    filter['address'] = random.chance(0.5) ? emitter() : random.list(random.below(4), emitter);
  if (random.chance(0.01)) filter['address'] = Array(random.pick([1000, 1001])).fill(emitter());
  if (random.chance(0.6)) filter['topics'] = topicFilter(random, corpus);
  if (random.chance(0.02)) filter['limit'] = 5;
  return filter;
}

function feeHistoryParams(random: Random, corpus: Corpus): unknown[] {
  const count = random.pick<number>([0, 1, 2, 5, 20, 60, 2_000]);
  const percentile = (): number => random.pick([0, 1, 5.5, 25, 50, 75, 99.9, 100, 101, -1]);
  const percentiles = random.list(random.pick([0, 1, 2, 3, 5]), percentile);
  return [
    random.pick<unknown>([`0x${count.toString(16)}`, count, String(count), `0x00${count.toString(16)}`]),
    random.weighted<unknown>([
      [12, () => blockNumber(random, corpus)],
      [5, () => tag(random)],
      [1, () => `0x${(corpus.head + random.between(1, 10)).toString(16)}`],
    ]),
    random.chance(0.8) ? percentiles.toSorted((a, b) => a - b) : percentiles,
  ];
}

async function goodParams(random: Random, corpus: Corpus, method: string): Promise<unknown[]> {
  const address = (): string => checksummed(random, anyAddress(random, corpus));
  const block = (): unknown[] => (random.chance(0.93) ? [selector(random, corpus)] : []);
  switch (method) {
    case 'eth_createAccessList':
      return accessListParams(random, corpus);
    case 'eth_estimateGas':
      return estimateParams(random, corpus);
    case 'eth_call':
      return callParams(random, corpus);
    case 'eth_simulateV1':
      return simulationParams(random, corpus);
    case 'eth_getLogs':
      return [logFilter(random, corpus)];
    case 'eth_getBlockReceipts':
      return [selector(random, corpus)];
    case 'eth_getStorageAt': {
      const known = random.pick(corpus.filled);
      return random.chance(0.5)
        ? [known.address, known.slot, ...block()]
        : [address(), storageKey(random, corpus), ...block()];
    }
    case 'eth_getProof': {
      const known = random.pick(corpus.filled);
      const keys = random.list(random.below(4), () => storageKey(random, corpus));
      return random.chance(0.5)
        ? [known.address, [known.slot, ...keys], ...block()]
        : [address(), keys, ...block()];
    }
    case 'eth_feeHistory':
      return feeHistoryParams(random, corpus);
    case 'eth_gasPrice':
    case 'eth_maxPriorityFeePerGas':
    case 'eth_blobBaseFee':
      return [];
    case 'eth_getTransactionCount':
    case 'eth_getBalance':
    case 'eth_getCode':
      return [address(), ...block()];
    default:
      return method.startsWith('debug_trace')
        ? traceParams(random, corpus, method)
        : blockParams(random, corpus, method);
  }
}

/** Methods, each as often as its number says. */
export type Mix = readonly (readonly [number, string])[];

/** The five that a read node is mostly asked for. */
export const five: Mix = [
  [50, 'eth_call'],
  [18, 'eth_getLogs'],
  [12, 'eth_getStorageAt'],
  [10, 'eth_getTransactionCount'],
  [10, 'eth_getBlockReceipts'],
];

/** All methods that geth has too. */
export const all: Mix = [
  ...five,
  [15, 'eth_estimateGas'],
  [10, 'eth_createAccessList'],
  [5, 'eth_getBalance'],
  [5, 'eth_getCode'],
  [5, 'eth_getProof'],
  ...blockMethods.map((method) => [3, method] as const),
  [8, 'eth_feeHistory'],
  [8, 'eth_simulateV1'],
  ...traceMethods,
  ...['eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_blobBaseFee'].map((method) => [1, method] as const),
];

/** Request number `index` of a run: the same for the same seed and chain, whatever came before it. */
export async function makeRequest(seed: number, index: number, corpus: Corpus, mix: Mix): Promise<Call> {
  const random = new Random(seed, index);
  const method = random.weighted(mix.map(([weight, name]) => [weight, () => name] as const));
  const params = await goodParams(random, corpus, method);
  // What JSON cannot say must not be in the request that is reported.
  const plain = JSON.parse(JSON.stringify(params)) as unknown[];
  // A simulation with lists that is put on another block may have them before there were any.
  const isFixed = method === 'eth_simulateV1' && /accessList|authorizationList/.test(JSON.stringify(plain));
  return { method, params: !isFixed && random.chance(0.1) ? mutate(random, plain) : plain };
}
