import { copyFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { encodeFunctionData } from 'viem';
import { quiet } from '../test/support/servers/geth.ts';
import { follow, total, untilHead } from '../test/support/servers/our-node.ts';
import { anvilBinary, gethBinary, repoRoot } from '../test/support/servers/paths.ts';
import { runToEnd, start, tempDir } from '../test/support/servers/process.ts';
import { request } from '../test/support/servers/rpc-client.ts';
import { type BusyChain, holder } from './live-chain.ts';
import { markdown } from './report.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Whether somebody listens; cheaper than a request, as the asking shares the machine with the program that starts. */
function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Milliseconds from starting a program to its first answer; it is ended then. */
async function firstAnswer(command: string, argsOn: (port: number) => readonly string[]): Promise<number> {
  const port = await freePort();
  const started = performance.now();
  await using running = start(command, argsOn(port), { cwd: repoRoot });
  for (;;) {
    const answer = (await listens(port))
      ? await request(`http://127.0.0.1:${port}`, 'eth_blockNumber').catch(() => undefined)
      : undefined;
    if (answer !== undefined) return performance.now() - started;
    if (performance.now() - started > 30_000) throw new Error(`${command}:\n${running.output()}`);
    await pause(5);
  }
}

/** Compiles the command line as it is installed; beneath the repository, whose packages it needs. */
async function compiled(): Promise<string> {
  const folder = join(repoRoot, 'node_modules/.cache/chain-query-bench');
  const tsc = join(repoRoot, 'node_modules/.bin/tsc');
  await runToEnd(tsc, ['-p', 'tsconfig.build.json', '--outDir', join(folder, 'dist')], { cwd: repoRoot });
  await copyFile(join(repoRoot, 'package.json'), join(folder, 'package.json'));
  return join(folder, 'dist/cli/main.js');
}

const ours = (main: string, dataDir: string, more: readonly string[]) => (port: number) => [
  ...[main, 'serve', '--data', dataDir, '--dedicated', `127.0.0.1:${port}`],
  ...['--public', 'off', '--admin', 'off', '--threads', '2', ...more],
];

/** How long each takes from nothing to an answer; `dataDir` holds a copy of the chain. */
export async function firstAnswers(chain: BusyChain, dataDir: string, rounds: number): Promise<string> {
  await using dev = await tempDir('geth-start');
  const main = await compiled();
  const upstream = ['--upstream', chain.node.ws, '--chain', chain.node.genesisFile];
  const gethOn = (port: number): readonly string[] => [
    ...['--dev', '--datadir', dev.path, '--http', '--http.addr', '127.0.0.1', '--http.port', String(port)],
    ...quiet,
  ];
  // Its first start makes the chain.
  await firstAnswer(gethBinary(), gethOn);
  const contestants: Readonly<Record<string, () => Promise<number>>> = {
    [`ours, a store of ${chain.head.number} blocks`]: () =>
      firstAnswer(process.execPath, ours(main, dataDir, [])),
    'ours, an empty store and an upstream': async () => {
      await using empty = await tempDir('empty');
      return await firstAnswer(process.execPath, ours(main, join(empty.path, 'data'), upstream));
    },
    'anvil, a new chain': () => firstAnswer(anvilBinary(), (port) => ['--port', String(port)]),
    'geth --dev, a chain of one block': () => firstAnswer(gethBinary(), gethOn),
  };
  const taken = new Map<string, number[]>(Object.keys(contestants).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, measure] of Object.entries(contestants)) taken.get(name)?.push(await measure());
  }
  const rows = [...taken].map(([name, list]) => {
    const sorted = list.toSorted((a, b) => a - b);
    return [name, (sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(0)];
  });
  return markdown(['start to first answer', 'ms'], rows);
}

/** What a call costs whose state nobody has asked for yet, and the same call again. */
export async function firstCalls(chain: BusyChain): Promise<string> {
  await using store = await tempDir('first-calls');
  await using node = await follow({
    dataDir: store.path,
    upstreams: [chain.node.ws],
    rules: chain.node.genesisFile,
    more: ['--finality-ms', '3600000'],
  });
  await untilHead(node, chain.head.hash);
  // Neither the connection nor the code that answers is new then.
  for (let left = 20; left > 0; left -= 1) await request(node.url, 'eth_blockNumber');
  const rows: string[][] = [];
  const ask = async (title: string, who: string): Promise<void> => {
    const before = await spent();
    const data = encodeFunctionData({ abi: chain.abi, functionName: 'balanceOf', args: [who] });
    const started = performance.now();
    await request(node.url, 'eth_call', [{ to: chain.token, data }, 'latest']);
    const ms = performance.now() - started;
    const after = await spent();
    const [requests, calls] = after.map((value, at) => String(value - (before[at] ?? 0)));
    rows.push([title, ms.toFixed(1), requests ?? '', calls ?? '']);
  };
  const spent = async (): Promise<readonly number[]> => [
    await total(node, 'chain_query_upstream_requests_total'),
    await total(node, 'chain_query_upstream_calls_total'),
  ];
  await ask('nothing of the token known', holder(0));
  await ask('the same call again', holder(0));
  await ask('another holder', holder(1));
  await ask('that call again', holder(1));
  return markdown(['eth_call, balanceOf', 'ms', 'upstream requests', 'upstream calls'], rows);
}
