import { loadavg } from 'node:os';
import {
  type Address,
  encodeAbiParameters,
  encodeEventTopics,
  encodeFunctionData,
  type Hex,
  keccak256,
  pad,
  toHex,
} from 'viem';
import type { BuiltFlashblock } from '../../test/support/flashblocks/builder.ts';
import { opFunder } from '../../test/support/servers/op-genesis.ts';
import { total } from '../../test/support/servers/our-node.ts';
import type { Call } from '../../test/support/servers/rpc-client.ts';
import { holder } from '../live-chain.ts';
import type { FlashblockChain, ReadyBlock } from './chain.ts';
import { Connection, encodeRequest, type Received } from './http.ts';
import { type LoadResult, startLoad } from './load.ts';
import { PendingLogs } from './logs.ts';

/** Flashblocks of a block after index 0, which has the deposit only: ten in all, as on a real chain. */
const partsPerBlock = 9;
export const knownHolders = 400;
/** So that both threads are asked. */
const connectionsPerMethod = 4;
export const readsPerSecond = 2_000;
const answerDeadlineMs = 30_000;

export interface Variant {
  readonly transactions: number;
  /** Whether our node has seen the holders before, or must ask its upstream for their balances. */
  readonly known: boolean;
  readonly blocks: number;
  /** What p99 should be below. */
  readonly aimMs: number | undefined;
}

/** A question whose answer shows a flashblock, and text that only that answer has. */
interface Probe {
  readonly method: string;
  readonly call: Call;
  readonly expected: string;
}

interface Watched {
  readonly probes: readonly Probe[];
  /** Of its last transaction. */
  readonly hash: Hex;
}

/** One flashblock that was seen. */
interface Sample {
  readonly publishedAt: number;
  /** Milliseconds by what shows it. */
  readonly lags: ReadonlyMap<string, number>;
}

/** When the upstream had a sealed block, and when our node had made it its head. */
interface Seal {
  readonly at: number;
  readonly confirmedAt: number;
}

export interface Freshnesses {
  readonly variant: Variant;
  readonly samples: readonly Sample[];
  readonly seals: readonly Seal[];
  readonly reads: LoadResult;
  /** The node's own time of a flashblock in the mean, with index 0, and how often it asked its upstream for state. */
  readonly executionMs: number;
  readonly rounds: number;
  readonly loadAverage: number;
}

export const balanceSlot = (who: Address): Hex =>
  keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [who, 0n]));

/** What there is a token on. */
type TokenChain = Pick<FlashblockChain, 'tokenAbi' | 'tokens'>;

export function balanceOf({ tokenAbi, tokens: [token] }: TokenChain, who: Address, tag: string): Call {
  const data = encodeFunctionData({ abi: tokenAbi, functionName: 'balanceOf', args: [who] });
  return { method: 'eth_call', params: [{ to: token, data }, tag] };
}

/** Transfers to anybody at all. */
export const transfersTo = (chain: TokenChain, who: Address | null): readonly (Hex | null)[] => [
  encodeEventTopics({ abi: chain.tokenAbi, eventName: 'Transfer' })[0] as Hex,
  null,
  who && pad(who),
];

/** Measures how long after a flashblock each method, and a subscriber, has it. */
export class Freshness {
  readonly #chain: FlashblockChain;
  readonly #token: Hex;
  readonly #balances = new Map<Hex, bigint>();
  readonly #watched = new WeakMap<BuiltFlashblock, Watched>();
  #transfers = 0;

  constructor(chain: FlashblockChain) {
    this.#chain = chain;
    this.#token = chain.tokens[0] as Hex;
  }

  /** One block that pays all known holders, so that our node knows their balances. */
  async pay(): Promise<ReadyBlock> {
    return this.#block(partsPerBlock, Math.ceil(knownHolders / partsPerBlock), true);
  }

  async build({ transactions, known, blocks }: Variant): Promise<readonly ReadyBlock[]> {
    const built: ReadyBlock[] = [];
    while (built.length < blocks) built.push(await this.#block(partsPerBlock, transactions, known));
    return built;
  }

  /** Publishes the blocks, with reads beside them. */
  async measure(variant: Variant, blocks: readonly ReadyBlock[]): Promise<Freshnesses> {
    const { url } = this.#chain.ours;
    using connections = new DisposableStack();
    const open = async (): Promise<Connection> => connections.use(await Connection.open(url));
    const pools = await Promise.all(
      Array.from({ length: 6 }, () => Promise.all(Array.from({ length: connectionsPerMethod }, open))),
    );
    await using stream = await PendingLogs.subscribe(url, this.#token);
    await using load = await startLoad({ url, perSecond: readsPerSecond, requests: this.#mix() });
    const executing = await this.#executing();
    const samples: Sample[] = [];
    const seals: Promise<Seal>[] = [];
    let asked = 0;
    const ask = (method: number, request: Buffer): Promise<Received> => {
      const connection = pools[method]?.[asked % connectionsPerMethod];
      if (connection === undefined) throw new Error('no connection');
      return connection.ask(request);
    };
    let answers: Promise<readonly (readonly [string, number])[]> | undefined;
    await this.#chain.replay(blocks, {
      before: (flashblock) => {
        const watched = this.#watched.get(flashblock);
        if (watched === undefined) return;
        asked += 1;
        const { message } = flashblock;
        const atLeast = `${message.metadata.block_number};${message.index}`;
        const shown = watched.probes.map(async ({ method, call, expected }, at) => {
          const { at: received, body } = await ask(at, encodeRequest(call, atLeast));
          if (!body.includes(expected)) {
            throw new Error(`${method} at ${atLeast} does not show it: ${body.subarray(0, 300).toString()}`);
          }
          return [method, received] as const;
        });
        shown.push(stream.saw(watched.hash).then((at) => ['pendingLogs', at] as const));
        answers = Promise.all(shown);
        // Looked at once the flashblock is published.
        answers.catch(() => {});
      },
      published: async (flashblock, publishedAt) => {
        if (answers === undefined) return;
        const { message } = flashblock;
        const what = `block ${message.metadata.block_number} index ${message.index}`;
        const received = await this.#inTime(answers, what);
        answers = undefined;
        samples.push({ publishedAt, lags: new Map(received.map(([name, at]) => [name, at - publishedAt])) });
      },
      sealed: ({ number }, sealedAt) => {
        const call = { method: 'eth_blockNumber', params: [] };
        const confirmed = ask(5, encodeRequest(call, String(number))).then(({ at }) => ({
          at: sealedAt,
          confirmedAt: at,
        }));
        confirmed.catch(() => {});
        seals.push(confirmed);
      },
    });
    const reads = await load.stop();
    const executed = await this.#executing();
    const count = executed.count - executing.count;
    return {
      variant,
      samples,
      seals: await Promise.all(seals),
      reads,
      executionMs: ((executed.seconds - executing.seconds) * 1000) / count,
      rounds: (executed.rounds - executing.rounds) / count,
      loadAverage: loadavg()[0] ?? 0,
    };
  }

  async #inTime<T>(answers: Promise<T>, what: string): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const late = (): void =>
      reject(new Error(`${what} is not shown:\n${this.#chain.ours.running.output().slice(-3000)}`));
    const timer = setTimeout(late, answerDeadlineMs);
    try {
      return await Promise.race([answers, promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #executing(): Promise<{ readonly seconds: number; readonly count: number; readonly rounds: number }> {
    const of = (name: string): Promise<number> => total(this.#chain.ours, `chain_query_flashblock_${name}`);
    return {
      seconds: await of('execution_seconds_sum'),
      count: await of('execution_seconds_count'),
      rounds: await of('rounds_total'),
    };
  }

  async #block(parts: number, transactions: number, known: boolean): Promise<ReadyBlock> {
    const signed: Hex[][] = [];
    const watched: Watched[] = [];
    for (let part = 0; part < parts; part += 1) {
      const list: Hex[] = [];
      let last: Address = '0x';
      for (let left = transactions; left > 0; left -= 1) {
        const number = this.#transfers++;
        last = holder(known ? number % knownHolders : 1_000_000 + number);
        list.push(await this.#chain.transfer(last));
        this.#balances.set(last, (this.#balances.get(last) ?? 0n) + 1n);
      }
      signed.push(list);
      watched.push(this.#watch(last, list.at(-1) ?? '0x'));
    }
    const block = await this.#chain.build(signed);
    watched.forEach((probes, part) => {
      const flashblock = block.flashblocks[part + 1];
      if (flashblock !== undefined) this.#watched.set(flashblock, probes);
    });
    return block;
  }

  /** How the last transaction of a flashblock, a transfer, shows. */
  #watch(to: Address, transaction: Hex): Watched {
    const hash = keccak256(transaction);
    const balance = pad(toHex(this.#balances.get(to) ?? 0n));
    const filter = {
      ...{ fromBlock: 'pending', toBlock: 'pending' },
      ...{ address: this.#token, topics: transfersTo(this.#chain, to) },
    };
    const probe = (method: string, params: readonly unknown[], expected: string): Probe => ({
      method,
      call: { method, params },
      expected,
    });
    const probes = [
      probe('eth_getTransactionCount', [opFunder.address, 'pending'], `"${toHex(this.#chain.nonce)}"`),
      probe('eth_getStorageAt', [this.#token, balanceSlot(to), 'pending'], balance),
      probe('eth_call', balanceOf(this.#chain, to, 'pending').params as readonly unknown[], balance),
      probe('eth_getLogs', [filter], hash),
      probe('eth_getBlockReceipts', ['pending'], hash),
    ];
    return { probes, hash };
  }

  /** What is read beside: 200 requests, half of them of `latest`, with one for all receipts of a block. */
  #mix(): readonly Buffer[] {
    const requests = Array.from({ length: 200 }, (_, at): Call => {
      const tag = at % 2 === 0 ? 'pending' : 'latest';
      const who = holder((at * 7) % knownHolders);
      if (at === 100) return { method: 'eth_getBlockReceipts', params: [tag] };
      switch ((at % 20) >> 1) {
        case 0:
        case 1:
        case 2:
          return { method: 'eth_getTransactionCount', params: [opFunder.address, tag] };
        case 3:
        case 4:
        case 5:
          return { method: 'eth_getStorageAt', params: [this.#token, balanceSlot(who), tag] };
        case 6:
        case 7:
        case 8:
          return balanceOf(this.#chain, who, tag);
        default: {
          const topics = transfersTo(this.#chain, who);
          const filter = { fromBlock: tag, toBlock: tag, address: this.#token, topics };
          return { method: 'eth_getLogs', params: [filter] };
        }
      }
    });
    return requests.map((call) => encodeRequest(call));
  }
}
