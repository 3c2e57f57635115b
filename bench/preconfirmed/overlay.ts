import { encodeFunctionData, type Hex } from 'viem';
import { type FollowingNode, total } from '../../test/support/servers/our-node.ts';
import type { Call } from '../../test/support/servers/rpc-client.ts';
import { holder } from '../live-chain.ts';
import { markdown } from '../report.ts';
import type { Load, Measured } from '../wrk.ts';
import type { FlashblockChain, ReadyBlock } from './chain.ts';
import { quantile } from './clock.ts';
import { balanceOf } from './freshness.ts';

const few = 10;
const many = 10_000;
const writesPerTransaction = 400;
/** Written by no block of these. */
const untouched = 1_000_000n;
const warmUpSeconds = 2;

export interface OverlayResult {
  readonly table: string;
  /** The largest ratio of a call's CPU time with many changed slots to that with few. */
  readonly worst: number;
}

interface Cost {
  readonly perSecond: number;
  /** CPU time of the whole node for one call. */
  readonly cpuMicros: number;
}

/** A block that changes ten slots, then ten thousand. */
async function build(chain: FlashblockChain): Promise<ReadyBlock> {
  const small = [await chain.transfer(holder(0)), await chain.write(0, few, 1)];
  const large: Hex[] = [];
  for (let from = few; from < many; from += writesPerTransaction) {
    large.push(await chain.write(from, Math.min(writesPerTransaction, many - from), 1));
  }
  return chain.build([small, large]);
}

/** What calls of `pending` cost on a small and on a large overlay: two nodes on the same block, one of which has more of it. */
export async function overlayCost(
  chain: FlashblockChain,
  load: Load,
  rounds: number,
  seconds: number,
): Promise<OverlayResult> {
  const block = await build(chain);
  const apart = await chain.followApart();
  for (const { message } of block.flashblocks.slice(0, 2)) apart.server.publish(message);
  await chain.replay([block], {});
  const sizes: number[] = [];
  const nodes = [apart.node, chain.ours] as const;
  for (const [at, node] of nodes.entries()) {
    await reached(node.url, `${block.ref.number};${at + 1}`);
    sizes.push(await total(node, 'chain_query_preconfirmed_slots'));
  }
  if ((sizes[0] ?? many) >= 3 * few || (sizes[1] ?? 0) < many)
    throw new Error(`overlays of ${sizes.join(' and ')} slots`);
  const args = [0n, untouched];
  const data = encodeFunctionData({ abi: chain.wideAbi, functionName: 'twenty', args });
  const calls: Readonly<Record<string, Call>> = {
    balanceOf: balanceOf(chain, holder(0), 'pending'),
    '20 slots, 10 of them changed': { method: 'eth_call', params: [{ to: chain.wide, data }, 'pending'] },
  };
  let worst = 0;
  const rows: string[][] = [];
  for (const [name, call] of Object.entries(calls)) {
    const costs = nodes.map((): Cost[] => []);
    for (let round = 0; round <= rounds; round += 1) {
      // Each goes first in half of the rounds.
      const turns = [...nodes.entries()];
      for (const [at, node] of round % 2 === 0 ? turns : turns.reverse()) {
        const cost = await costOf(node, () => load(node.url, call, round === 0 ? warmUpSeconds : seconds));
        if (round > 0) costs[at]?.push(cost);
      }
    }
    const middle = (at: number, of: keyof Cost): number =>
      quantile(
        (costs[at] ?? []).map((cost) => cost[of]),
        0.5,
      );
    const ratio = middle(1, 'cpuMicros') / middle(0, 'cpuMicros');
    worst = Math.max(worst, ratio);
    const cells = nodes.flatMap((_, at) => [
      Math.round(middle(at, 'perSecond')).toLocaleString('en-US'),
      middle(at, 'cpuMicros').toFixed(1),
    ]);
    const ratioOfRates = middle(0, 'perSecond') / middle(1, 'perSecond');
    rows.push([`eth_call of pending, ${name}`, ...cells, ratio.toFixed(2), ratioOfRates.toFixed(2)]);
  }
  await chain.settle();
  const headings = sizes.flatMap((size) => [
    `${size.toLocaleString('en-US')} changed slots, calls/s`,
    'CPU µs',
  ]);
  return { table: markdown(['size of the overlay', ...headings, 'ratio of CPU', 'of calls/s'], rows), worst };
}

/** What a call costs the node: other programs on the machine change its rate, and much less its CPU time. */
async function costOf(node: FollowingNode, load: () => Promise<Measured>): Promise<Cost> {
  const used = async (): Promise<readonly [seconds: number, requests: number]> => [
    await total(node, 'chain_query_process_cpu_seconds_total'),
    await total(node, 'chain_query_requests_total'),
  ];
  const [seconds, requests] = await used();
  const { perSecond } = await load();
  const [secondsAfter, requestsAfter] = await used();
  return { perSecond, cpuMicros: ((secondsAfter - seconds) * 1e6) / (requestsAfter - requests) };
}

/** Waits until the node knows a point. */
async function reached(url: string, atLeast: string): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-chain-at-least': atLeast },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }),
  });
  if (!answer.ok) throw new Error(`the node does not reach ${atLeast}: ${await answer.text()}`);
  await answer.arrayBuffer();
}
