import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { encodeFunctionData } from 'viem';
import { startCassandra } from '../../test/support/servers/fleet/cassandra.ts';
import { startNats } from '../../test/support/servers/fleet/nats.ts';
import { boundAddresses, startCli } from '../../test/support/servers/node.ts';
import { type Running, tempDir, until } from '../../test/support/servers/process.ts';
import { request } from '../../test/support/servers/rpc-client.ts';
import { BusyChain } from '../live-chain.ts';
import { markdown, type Section } from '../report.ts';
import { prepareWrk } from '../wrk.ts';

/** One of our processes, and what it says of itself. */
interface Member {
  readonly running: Running;
  readonly url: string;
  metric(name: string): Promise<number>;
}

const MAX_REPLICAS = 3;
const BLOCK_MS = 500;
/** The kernel counts CPU time in these. */
const TICKS_A_SECOND = 100;

/** What a fleet costs in steady state: of Cassandra, of the feed, of a replica beside the ingester. */
export async function fleet({ quick }: { readonly quick: boolean }): Promise<Section> {
  const [blocks, seconds] = quick ? [10, 2] : [60, 10];
  await using stack = new AsyncDisposableStack();
  const chain = stack.use(await BusyChain.start());
  const cassandra = stack.use(await startCassandra({ nodes: 1 }));
  const nats = stack.use(await startNats({ nodes: 1 }));
  const dir = stack.use(await tempDir('fleet'));
  const { contactPoints, localDataCenter } = cassandra;
  let started = 0;
  const start = async (args: readonly string[]): Promise<Member> => {
    const portFile = join(dir.path, `ports-${started++}.json`);
    const running = startCli([
      ...args,
      ...['--store', `cql://${contactPoints.join(',')}/fleet?dc=${localDataCenter}&replicas=1`],
      ...['--feed', `nats://${nats.servers[0]}`, '--feed-bytes', '64MiB'],
      ...['--chain', chain.node.genesisFile, '--upstream', chain.node.ws],
      ...['--public', 'off', '--dedicated', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--threads', '1'],
      ...['--listen-port-file', portFile, '--log-level', 'warn'],
    ]);
    stack.defer(() => running.stop());
    const ports = await boundAddresses(running, portFile);
    return {
      running,
      url: `http://${ports['dedicated']}`,
      metric: async (name) => metricOf(await (await fetch(`http://${ports['admin']}/metrics`)).text(), name),
    };
  };
  const ingester = await start(['ingest']);
  const first = await start(['serve']);
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
  const bytes = await ingester.metric('feed_bytes_total');
  const busy = await used([ingester, first], () => grow(blocks).then(reached));
  const perBlock = [0, 1].map((at) => (((busy[at] ?? 0) - (idle[at] ?? 0)) * 1_000) / blocks);
  const [ingesting = 0, applying = 0] = perBlock;
  const feedBytes = ((await ingester.metric('feed_bytes_total')) - bytes) / blocks;

  const load = await prepareWrk(dir);
  const rows: string[][] = [];
  for (let count = 1; count <= MAX_REPLICAS; count++) {
    while (replicas.length < count) replicas.push(await start(['serve']));
    for (const replica of replicas) await load(replica.url, call, 1);
    console.log(`calls to ${count} replicas`);
    const before = await Promise.all(replicas.map((replica) => replica.metric('store_reads_total')));
    let measured: readonly { readonly perSecond: number }[] = [];
    const cpu = await used(replicas, async () => {
      const growing = grow(Math.floor((seconds * 1_000) / BLOCK_MS) - 1);
      measured = await Promise.all(replicas.map((replica) => load(replica.url, call, seconds)));
      await growing;
    });
    const after = await Promise.all(replicas.map((replica) => replica.metric('store_reads_total')));
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

/** Seconds of CPU that each used while `work` was done. */
async function used(members: readonly Member[], work: () => Promise<unknown>): Promise<readonly number[]> {
  const before = members.map(({ running }) => cpuOf(running.pid));
  await work();
  return members.map(({ running }, at) => cpuOf(running.pid) - (before[at] ?? 0));
}

/** Of a process and those that it started: npm is one, our program its child. */
function cpuOf(group: number): number {
  const stat = (pid: string): readonly string[] =>
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const pids = readFileSync(`/proc/${group}/task/${group}/children`, 'utf8').trim().split(' ');
  return [String(group), ...pids]
    .filter((pid) => pid !== '')
    .flatMap((pid) => [pid, ...readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')])
    .filter((pid, at, all) => pid !== '' && all.indexOf(pid) === at)
    .reduce((sum, pid) => sum + (Number(stat(pid)[11]) + Number(stat(pid)[12])) / TICKS_A_SECOND, 0);
}

function metricOf(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`chain_query_${name} `));
  if (line === undefined) throw new Error(`no metric ${name}`);
  return Number(line.split(' ')[1]);
}
