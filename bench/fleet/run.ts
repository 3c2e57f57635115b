import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { encodeFunctionData } from 'viem';
import { startCassandra } from '../../test/support/servers/fleet/cassandra.ts';
import { fleetOptions, startMember } from '../../test/support/servers/fleet/members.ts';
import { startNats } from '../../test/support/servers/fleet/nats.ts';
import { type FollowingNode, total } from '../../test/support/servers/our-node.ts';
import { tempDir, until } from '../../test/support/servers/process.ts';
import { request } from '../../test/support/servers/rpc-client.ts';
import { BusyChain } from '../live-chain.ts';
import { markdown, type Section } from '../report.ts';
import { prepareWrk } from '../wrk.ts';

const MAX_REPLICAS = 3;
const BLOCK_MS = 500;
const FEED_BYTES = 'chain_query_feed_bytes_total';
const STORE_READS = 'chain_query_store_reads_total';
const CPU_SECONDS = 'chain_query_process_cpu_seconds_total';

/** What a fleet costs in steady state: of Cassandra, of the feed, of a replica beside the ingester. */
export async function fleet({ quick }: { readonly quick: boolean }): Promise<Section> {
  const [blocks, seconds] = quick ? [10, 2] : [60, 10];
  await using stack = new AsyncDisposableStack();
  const chain = stack.use(await BusyChain.start());
  const cassandra = stack.use(await startCassandra({ nodes: 1 }));
  const nats = stack.use(await startNats({ nodes: 1 }));
  const dir = stack.use(await tempDir('fleet'));
  const common = [
    ...fleetOptions({ cassandra, nats }),
    ...['--chain', chain.node.genesisFile, '--upstream', chain.node.ws],
    ...['--threads', '1', '--log-level', 'warn'],
  ];
  let started = 0;
  const start = async (command: 'ingest' | 'serve'): Promise<FollowingNode> =>
    stack.use(await startMember([command, ...common], join(dir.path, `ports-${started++}.json`)));
  const ingester = await start('ingest');
  const first = await start('serve');
  const replicas = [first];
  const data = encodeFunctionData({ abi: chain.abi, functionName: 'balanceOf', args: [chain.token] });
  const call = { method: 'eth_call', params: [{ to: chain.token, data }, 'latest'] };
  const reached = (): Promise<unknown> =>
    until('the replica to be at the head', async () =>
      Number(await request(first.url, 'eth_blockNumber')) >= chain.head.number ? true : undefined,
    );
  const grow = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left--) {
      const began = performance.now();
      await chain.grow(1, 'known');
      await pause(Math.max(0, BLOCK_MS - (performance.now() - began)));
    }
  };
  await grow(10);
  await reached();

  console.log(`${blocks} blocks without requests`);
  const idle = await used([ingester, first], () => pause(blocks * BLOCK_MS));
  const bytes = await total(ingester, FEED_BYTES);
  const busy = await used([ingester, first], () => grow(blocks).then(reached));
  const perBlock = [0, 1].map((at) => (((busy[at] ?? 0) - (idle[at] ?? 0)) * 1_000) / blocks);
  const [ingesting = 0, applying = 0] = perBlock;
  const feedBytes = ((await total(ingester, FEED_BYTES)) - bytes) / blocks;

  const load = await prepareWrk(dir);
  const rows: string[][] = [];
  for (let count = 1; count <= MAX_REPLICAS; count++) {
    while (replicas.length < count) replicas.push(await start('serve'));
    for (const replica of replicas) await load(replica.url, call, 1);
    console.log(`calls to ${count} replicas`);
    const before = await Promise.all(replicas.map((replica) => total(replica, STORE_READS)));
    let measured: readonly { readonly perSecond: number }[] = [];
    const cpu = await used(replicas, async () => {
      const growing = grow(Math.floor((seconds * 1_000) / BLOCK_MS) - 1);
      measured = await Promise.all(replicas.map((replica) => load(replica.url, call, seconds)));
      await growing;
    });
    const after = await Promise.all(replicas.map((replica) => total(replica, STORE_READS)));
    const calls = measured.reduce((sum, { perSecond }) => sum + perSecond * seconds, 0);
    const reads = after.reduce((sum, value, at) => sum + value - (before[at] ?? 0), 0);
    const spent = cpu.reduce((sum, value) => sum + value, 0);
    rows.push([
      String(count),
      Math.round(calls / seconds).toLocaleString('en-US'),
      ((spent * 1e6) / calls).toFixed(0),
      (reads / calls).toFixed(5),
    ]);
  }
  return {
    name: 'fleet',
    facts: [
      'Blocks of 4 calls that write 100 slots and log each, and 8 token transfers, one every 500 ms; an ingester and replicas of one thread on one Cassandra and one NATS node.',
      'CPU time of whole processes, less what they use in the same time without blocks. *Ingesting* is fetching, executing, writing and telling; *applying* is hearing, checking and making readable.',
      'Calls: `balanceOf` at latest while blocks come, from wrk over 32 connections a replica, all on one machine: what counts is the CPU time a call.',
    ],
    tables: [
      markdown(
        ['a block', 'figure'],
        [
          ['CPU of the ingester, ms', ingesting.toFixed(1)],
          ['CPU of a replica, ms', applying.toFixed(1)],
          ['replica ÷ ingester', (applying / ingesting).toFixed(2)],
          ['bytes on the feed', Math.round(feedBytes).toLocaleString('en-US')],
        ],
      ),
      markdown(['replicas', 'calls/s', 'CPU µs a call', 'reads of Cassandra a call'], rows),
    ],
  };
}

/** Seconds of CPU that each used while `work` was done, by its own account. */
async function used(
  members: readonly FollowingNode[],
  work: () => Promise<unknown>,
): Promise<readonly number[]> {
  const spent = (): Promise<number[]> => Promise.all(members.map((member) => total(member, CPU_SECONDS)));
  const before = await spent();
  await work();
  return (await spent()).map((seconds, at) => seconds - (before[at] ?? 0));
}
