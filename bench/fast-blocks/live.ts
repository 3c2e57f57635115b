import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { opFunder } from '../../test/support/servers/op-genesis.ts';
import { type FollowingNode, follow, total, untilHead } from '../../test/support/servers/our-node.ts';
import { tempDir } from '../../test/support/servers/process.ts';
import type { Call } from '../../test/support/servers/rpc-client.ts';
import { holder } from '../live-chain.ts';
import { now } from '../preconfirmed/clock.ts';
import { balanceOf, balanceSlot, transfersTo } from '../preconfirmed/freshness.ts';
import { encodeRequest } from '../preconfirmed/http.ts';
import { type LoadResult, startLoad } from '../preconfirmed/load.ts';
import { type BuiltBlock, type FastChain, holders } from './chain.ts';
import { type ExpectedBlock, observe, type Seen } from './observer.ts';

export const blockMs = 200;
export const readsPerSecond = 2_000;
const warmBlocks = 6;
const settleMs = 1_500;

export interface Variant {
  readonly transactions: number;
  readonly blocks: number;
  /** How our node hears of blocks. Over HTTP it looks as often as there are blocks. */
  readonly over: 'WebSocket' | 'HTTP';
  /** What p99 should be below. */
  readonly aimMs: number | undefined;
}

export interface Measured {
  readonly variant: Variant;
  readonly seen: Seen;
  readonly reads: LoadResult;
  /** Of the upstream, for a block. */
  readonly requests: number;
  readonly calls: number;
  /** The node's own time of a block in the mean, and how often it lacked state. */
  readonly executionMs: number;
  readonly rounds: number;
  readonly loadAverage: number;
}

/** Our node beside a chain. */
export async function followChain(chain: FastChain, over: Variant['over']): Promise<FollowingNode> {
  const data = await tempDir('fast-blocks');
  const ours = await follow({
    dataDir: data.path,
    upstreams: [over === 'HTTP' ? chain.upstream.url : chain.upstream.ws],
    rules: chain.upstream.genesisFile,
    pollMs: blockMs,
    more: ['--at-least-wait-ms', '60000'],
  });
  const stop = async (): Promise<void> => {
    await ours.stop();
    await data[Symbol.asyncDispose]();
  };
  return { ...ours, stop, [Symbol.asyncDispose]: stop };
}

/** Blocks at their pace, with reads beside them: how long after the upstream names one every thread answers with it. */
export async function measureLive(
  chain: FastChain,
  ours: FollowingNode,
  variant: Variant,
): Promise<Measured> {
  const { transactions } = variant;
  // One that pays everybody makes all balances known, some more have the node warm.
  const warm = [await chain.build(holders)];
  while (warm.length < warmBlocks) warm.push(await chain.build(transactions));
  await release(chain, warm);
  await untilHead(ours, chain.head.hash);
  const blocks: BuiltBlock[] = [];
  while (blocks.length < variant.blocks) blocks.push(await chain.build(transactions));
  const { ws: upstream } = chain.upstream;
  const expected = blocks.map((block) => expectedOf(chain, block));
  await using observer = await observe({ upstream, url: ours.url, blocks: expected });
  await using load = await startLoad({ url: ours.url, perSecond: readsPerSecond, requests: mix(chain) });
  // What its requests read for the first time is not the blocks'.
  await pause(settleMs);
  const before = await counts(ours);
  await release(chain, blocks);
  const seen = (await observer.ask('seen')) as Seen;
  const after = await counts(ours);
  const reads = await load.stop();
  const of = (name: keyof typeof after): number => (after[name] - before[name]) / blocks.length;
  if (of('executed') !== 1) throw new Error(`${of('executed')} executions a block`);
  return {
    ...{ variant, seen, reads, requests: of('requests'), calls: of('calls') },
    ...{ executionMs: of('seconds') * 1000, rounds: of('rounds'), loadAverage: loadavg()[0] ?? 0 },
  };
}

async function release(chain: FastChain, blocks: readonly BuiltBlock[]): Promise<void> {
  const began = now();
  for (const [at, { ref }] of blocks.entries()) {
    const wait = began + at * blockMs - now();
    if (wait > 0) await pause(wait);
    await chain.release(ref);
  }
}

/** What shows a block: a balance after it, and a log of it. */
function expectedOf(chain: FastChain, { ref, last }: BuiltBlock): ExpectedBlock {
  const filter = { blockHash: ref.hash, address: chain.tokens[0], topics: transfersTo(chain, last.to) };
  return {
    number: ref.number,
    hash: ref.hash,
    probes: [
      {
        call: {
          method: 'eth_getStorageAt',
          params: [chain.tokens[0], balanceSlot(last.to), { blockHash: ref.hash }],
        },
        expected: last.balance,
      },
      { call: { method: 'eth_getLogs', params: [filter] }, expected: last.transaction },
    ],
  };
}

async function counts(
  node: FollowingNode,
): Promise<Record<'requests' | 'calls' | 'executed' | 'seconds' | 'rounds', number>> {
  const of = (name: string): Promise<number> => total(node, `chain_query_${name}`);
  return {
    requests: await of('upstream_requests_total'),
    calls: await of('upstream_calls_total'),
    executed: await of('executed_blocks_total'),
    seconds: await of('block_execution_seconds_sum'),
    rounds: await of('execution_rounds_total'),
  };
}

/** What is read beside: nonces, slots, calls and logs of `latest`. */
function mix(chain: FastChain): readonly Buffer[] {
  const [token] = chain.tokens;
  const calls = Array.from({ length: 200 }, (_, at): Call => {
    const who = holder((at * 7) % holders);
    switch (at % 4) {
      case 0:
        return { method: 'eth_getTransactionCount', params: [opFunder.address, 'latest'] };
      case 1:
        return { method: 'eth_getStorageAt', params: [token, balanceSlot(who), 'latest'] };
      case 2:
        return balanceOf(chain, who, 'latest');
      default: {
        const topics = transfersTo(chain, who);
        const filter = { fromBlock: 'latest', toBlock: 'latest', address: token, topics };
        return { method: 'eth_getLogs', params: [filter] };
      }
    }
  });
  return calls.map((call) => encodeRequest(call));
}
