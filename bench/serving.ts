import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { startAnvil } from '../test/support/servers/anvil.ts';
import { exportChain, startArchiveGeth, startDevGeth } from '../test/support/servers/geth.ts';
import { startOurNode } from '../test/support/servers/node.ts';
import { tempDir } from '../test/support/servers/process.ts';
import { request } from '../test/support/servers/rpc-client.ts';
import { devChainId, makeToken, owner, type Token } from '../test/support/workload/token.ts';
import { CROWD, type Crowd, makeCrowd } from './crowd.ts';
import { endpointWorkloads } from './endpoint-workloads.ts';
import { type Line, type Section, table } from './report.ts';
import { type Workload, workloads } from './workloads.ts';
import { type Measured, prepareWrk } from './wrk.ts';

const logsPerBlock = 100;

export interface ServingOptions {
  readonly blocks: number;
  readonly seconds: number;
  readonly rounds: number;
  /** Whether caches and compilers are warmed up before anything counts. */
  readonly isWarmedUp: boolean;
  readonly threads: string;
  /** Leave ours out, to measure the peers alone. */
  readonly peers: boolean;
  readonly only: string | undefined;
}

interface Server {
  readonly name: string;
  readonly url: string;
  readonly token: Token;
  readonly crowd: Crowd;
}

/** Requests a second of ours, anvil and geth on one chain: of the five reads, or of what an endpoint has beside them. */
export async function serving(part: 'serving' | 'endpoint', options: ServingOptions): Promise<Section> {
  await using stack = new AsyncDisposableStack();
  const servers = await startServers(options, stack);
  const asked = new Map<Server, readonly Workload[]>();
  for (const server of servers) {
    const { url, token, crowd } = server;
    const list = part === 'serving' ? await workloads(url, token) : endpointWorkloads(url, token, crowd);
    asked.set(server, options.only === undefined ? list : list.filter((one) => one.name === options.only));
  }
  await checkAnswers(asked);
  console.log('all servers agree on the answers; measuring');

  const load = await prepareWrk(stack.use(await tempDir('wrk')));
  const names = servers.map(({ name }) => name);
  const lines: Line[] = [];
  for (const [at, { title }] of (asked.values().next().value ?? []).entries()) {
    const rounds = new Map<string, Measured[]>(names.map((name) => [name, []]));
    for (let round = options.isWarmedUp ? 0 : 1; round <= options.rounds; round += 1) {
      for (const [server, list] of asked) {
        const { call: usual, prepare } = list[at] as Workload;
        const call = (await prepare?.()) ?? usual;
        // Round 0 warms caches and compilers up; interleaving spreads what else the machine does over all.
        const measured = await load(server.url, call, round === 0 ? 1 : options.seconds);
        if (round > 0) rounds.get(server.name)?.push(measured);
      }
    }
    lines.push({ title, rounds });
    console.log(table(lines.slice(-1), names).split('\n').at(-1));
  }
  return {
    name: part,
    facts: [
      `Chain: ${options.blocks} blocks of one transaction with ${logsPerBlock} logs each, and one of ${CROWD} transactions, the same on all servers; ours and geth import the same blocks.`,
      `Ours with ${options.threads} threads, on the dedicated listener; geth 1.16.7 as an archive; anvil 1.7.1.`,
      `Load: wrk, 1 thread, 32 connections, ${options.seconds} s, ${options.rounds} interleaved rounds${options.isWarmedUp ? ' after a warm-up' : ''}, the median.`,
    ],
    tables: [table(lines, names)],
  };
}

async function startServers(
  options: ServingOptions,
  stack: AsyncDisposableStack,
): Promise<readonly Server[]> {
  const { blocks } = options;
  const scratch = stack.use(await tempDir('bench'));
  const files = { genesis: join(scratch.path, 'genesis.json'), blocks: join(scratch.path, 'chain.rlp') };
  console.log(`making the chain on geth and anvil: ${blocks} blocks of ${logsPerBlock} logs`);
  const maker = stack.use(await startDevGeth());
  const token = await makeToken(maker.url, blocks, logsPerBlock);
  // geth serves from the files as an archive of its own, as ours does: a sealing dev node would be another contest.
  const crowd = await makeCrowd(maker.url, token);
  await maker.halt();
  await exportChain(maker.dataDir, crowd.block, files);
  const geth = stack.use(await startArchiveGeth({ ...files, networkId: String(devChainId) }));
  const anvil = stack.use(await startAnvil(['--chain-id', String(devChainId)]));
  await request(anvil.url, 'anvil_setBalance', [owner.address, `0x${'f'.repeat(20)}`]);
  const anvilToken = await makeToken(anvil.url, blocks, logsPerBlock);
  await request(anvil.url, 'evm_setAutomine', [false]);
  const anvilCrowd = await makeCrowd(anvil.url, anvilToken, () => request(anvil.url, 'evm_mine', []));
  const peers: Server[] = [
    { name: 'anvil', url: anvil.url, token: anvilToken, crowd: anvilCrowd },
    { name: 'geth', url: geth.url, token, crowd },
  ];
  if (options.peers) return peers;
  const ours = stack.use(await startOurNode(['--threads', options.threads], files));
  return [{ name: 'ours', url: ours.dedicatedUrl, token, crowd }, ...peers];
}

/** Nothing is measured before every server has given the same answer. */
async function checkAnswers(asked: ReadonlyMap<Server, readonly Workload[]>): Promise<void> {
  const seen = new Map<string, unknown>();
  for (const [server, list] of asked) {
    for (const { name, call: usual, prepare, essence } of list) {
      const call = (await prepare?.()) ?? usual;
      const answer = essence(await request(server.url, call.method, call.params as readonly unknown[]));
      if (!seen.has(name)) seen.set(name, answer);
      else if (!isDeepStrictEqual(seen.get(name), answer)) {
        const [first, other] = [seen.get(name), answer].map((value) => JSON.stringify(value)?.slice(0, 500));
        throw new Error(`${server.name} answers ${name} with ${other}, another said ${first}`);
      }
    }
  }
}
