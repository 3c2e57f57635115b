import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../support/random.ts';
import type { Answer, Call } from '../support/servers/rpc-client.ts';
import type { LiveChain } from './live-chain.ts';

/** A block as a client names it. */
export type Place =
  | { readonly tag: 'latest' | 'pending' }
  | { readonly number: number }
  | { readonly hash: string };

/** A request, and enough about it to ask the upstream the same about one certain block. */
export type Asked =
  | {
      readonly kind: 'at';
      readonly method: string;
      readonly subject: readonly unknown[];
      readonly place: Place;
    }
  | { readonly kind: 'logs'; readonly from: Place; readonly to: Place; readonly filter: object };

export interface Head {
  readonly number: number;
  readonly hash: string;
}

/** One response: all its answers, and the snapshot that it names. */
export interface Exchange {
  readonly asked: readonly Asked[];
  readonly answers: readonly Answer[];
  /** Undefined only where nothing was read from a chain. */
  readonly head: Head | undefined;
  readonly atLeast: number | undefined;
}

const hex = (number: number): string => `0x${number.toString(16)}`;

function param(place: Place): unknown {
  if ('tag' in place) return place.tag;
  return 'number' in place ? hex(place.number) : { blockHash: place.hash };
}

export function callOf(asked: Asked): Call {
  if (asked.kind === 'at') {
    return { method: asked.method, params: [...asked.subject, param(asked.place)] };
  }
  const { from, to, filter } = asked;
  const range = 'hash' in from ? { blockHash: from.hash } : { fromBlock: param(from), toBlock: param(to) };
  return { method: 'eth_getLogs', params: [{ ...filter, ...range }] };
}

/** Random requests about what is on a chain. */
export class Requests {
  private readonly chain: LiveChain;
  private readonly random: Random;
  /** Lowest block that is asked for by number. */
  lowest: number;

  constructor(chain: LiveChain, random: Random, lowest: number) {
    this.chain = chain;
    this.random = random;
    this.lowest = lowest;
  }

  next(): Asked {
    const { random } = this;
    const { catalogue } = this.chain.workload;
    const at = (method: string, subject: readonly unknown[]): Asked => ({
      kind: 'at',
      method,
      subject,
      place: this.place(),
    });
    return random.weighted<Asked>([
      [3, () => at('eth_getTransactionCount', [random.pick(catalogue.addresses)])],
      [
        3,
        () => {
          const { address, slot } = random.pick(catalogue.filled);
          return at('eth_getStorageAt', [address, slot]);
        },
      ],
      [
        4,
        () => {
          const { to, input } = random.pick(catalogue.inputs);
          return at('eth_call', [{ to, data: input, from: random.pick(catalogue.senders), gas: '0xf4240' }]);
        },
      ],
      [2, () => at('eth_getBlockReceipts', [])],
      [2, () => this.logs()],
    ]);
  }

  private logs(): Asked {
    const { random } = this;
    const { emitters } = this.chain.workload.catalogue;
    const filter = random.chance(0.5) && emitters.length > 0 ? { address: random.pick(emitters) } : {};
    return random.weighted<Asked>([
      [1, () => ({ kind: 'logs', from: { tag: 'latest' }, to: { tag: 'latest' }, filter })],
      [
        2,
        () => ({
          kind: 'logs',
          from: { number: Math.max(this.lowest, this.chain.head.number - random.between(1, 40)) },
          to: { tag: 'latest' },
          filter,
        }),
      ],
      [
        1,
        () => {
          const hash = random.pick(this.chain.hashes().slice(-60));
          return { kind: 'logs', from: { hash }, to: { hash }, filter };
        },
      ],
    ]);
  }

  private place(): Place {
    const { random } = this;
    return random.weighted<Place>([
      [4, () => ({ tag: 'latest' })],
      [1, () => ({ tag: 'pending' })],
      [
        3,
        () => ({
          number: Math.max(this.lowest, this.chain.head.number - random.below(random.pick([3, 40]))),
        }),
      ],
      [1, () => ({ hash: random.pick(this.chain.hashes().slice(-60)) })],
    ]);
  }
}

interface Entry {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Sends requests as one call or one batch. */
export async function exchange(url: string, asked: readonly Asked[], atLeast?: number): Promise<Exchange> {
  const messages = asked.map((each, id) => ({ jsonrpc: '2.0', id, ...callOf(each) }));
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(atLeast !== undefined && { 'x-chain-at-least': String(atLeast) }),
    },
    body: JSON.stringify(messages.length === 1 ? messages[0] : messages),
  });
  const body = (await response.json()) as Entry | readonly Entry[];
  const entries = Array.isArray(body) ? (body as readonly Entry[]) : [body as Entry];
  const [number, hash] = response.headers.get('x-chain-head')?.split(';') ?? [];
  return {
    asked,
    answers: entries.map(({ result, error }) => (error === undefined ? { result } : { error })),
    head: number === undefined || hash === undefined ? undefined : { number: Number(number), hash },
    atLeast,
  };
}

export interface TrafficOptions {
  readonly clients: number;
  readonly seed: number;
  readonly lowest: number;
  readonly pauseMs: number;
  /** Called for requests that got no answer at all, such as when a node was killed. */
  readonly onBroken?: (error: unknown) => void;
}

/**
 * Clients that ask without end, alone and in batches; every other one never wants to read backwards. Ends with the
 * signal.
 */
export async function traffic(
  chain: LiveChain,
  url: () => string,
  options: TrafficOptions,
  signal: AbortSignal,
): Promise<readonly Exchange[]> {
  const exchanges: Exchange[] = [];
  const client = async (index: number): Promise<void> => {
    const random = new Random(options.seed, 1_000 + index);
    const requests = new Requests(chain, random, options.lowest);
    let highest = 0;
    while (!signal.aborted) {
      const asked = random.list(random.chance(0.4) ? random.between(2, 8) : 1, () => requests.next());
      try {
        const done = await exchange(url(), asked, index % 2 === 0 ? highest : undefined);
        exchanges.push(done);
        highest = Math.max(highest, done.head?.number ?? 0);
      } catch (error) {
        if (options.onBroken === undefined) throw error;
        options.onBroken(error);
      }
      await pause(options.pauseMs);
    }
  };
  await Promise.all(Array.from({ length: options.clients }, (_, index) => client(index)));
  return exchanges;
}
