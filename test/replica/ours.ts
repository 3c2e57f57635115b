import { join } from 'node:path';
import type { WorkloadChain } from '../support/servers/chains.ts';
import { boundAddresses, startCli } from '../support/servers/node.ts';
import { tempDir, until } from '../support/servers/process.ts';
import { request, sendBatchNoting } from '../support/servers/rpc-client.ts';
import type { Head } from './judge.ts';

/** The server that is held against the upstream. */
export interface Replica extends AsyncDisposable {
  readonly url: string;
  /** The upstream itself: then nothing may differ, and answers do not name their block. */
  readonly isSelf: boolean;
  head(): Promise<Head>;
  /** The last it said, for error reports. */
  output(): string;
  /** Fails, with its last output, if it ends before it is stopped. */
  readonly died: Promise<never>;
  /** How often it has asked the upstream; undefined when it does not count. */
  upstreamRequests(): Promise<number | undefined>;
  /** Transactions whose effects it took from the upstream. */
  taken(): Promise<number>;
  /** The first block that it follows by state diffs; 0 while it executes all. */
  byDiffsFrom(): Promise<number>;
  /** What `/readyz` says. */
  ready(): Promise<{ readonly ready: boolean; readonly warnings?: readonly string[] }>;
  /** All that it measures. */
  metrics(): Promise<string>;
  /** How often it found an upstream lying. */
  lies(): Promise<number>;
  /** Ends it without warning. */
  kill(): Promise<void>;
}

/** The block that an answer was made at, as its headers say (contract B3). */
export function headIn(headers: Headers): Head | undefined {
  const [number, hash] = (headers.get('x-chain-head') ?? '').split(';');
  return number === undefined || hash === undefined ? undefined : { number: Number(number), hash };
}

/** The upstream itself, at `url` when something stands in between. */
export function selfReplica(chain: WorkloadChain, url = chain.url): Replica {
  return {
    url,
    isSelf: true,
    async head() {
      const block = await request<{ number: string; hash: string }>(chain.url, 'eth_getBlockByNumber', [
        'latest',
        false,
      ]);
      return { number: Number(block.number), hash: block.hash };
    },
    output: () => '',
    died: new Promise<never>(() => {}),
    upstreamRequests: () => Promise.resolve(undefined),
    taken: () => Promise.resolve(0),
    metrics: () => Promise.resolve(''),
    lies: () => Promise.resolve(0),
    byDiffsFrom: () => Promise.resolve(0),
    ready: () => Promise.resolve({ ready: true }),
    kill: () => Promise.reject(new Error('the upstream itself is not to be killed')),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** The sum over all labels of a metric. */
function sumOf(metrics: string, name: string): number | undefined {
  const values = metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .map((line) => Number(line.split(' ').at(-1)));
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

/** Our node, following the chain from where it is now; from the chain's own node when no upstreams are given. */
export async function startReplica(
  chain: WorkloadChain,
  options: readonly string[] = [],
  upstreams: readonly string[] = [chain.ws],
): Promise<Replica> {
  return startOurs((folder) => [
    ...['serve', '--data', join(folder, 'data'), '--chain', chain.rulesFile],
    ...upstreams.flatMap((url) => ['--upstream', url]),
    ...(chain.serveOptions ?? []),
    ...options,
  ]);
}

/** Our node as `args` have it, which may use a folder; on ports of its own. */
export async function startOurs(args: (folder: string) => readonly string[]): Promise<Replica> {
  const dir = await tempDir('replica');
  const portFile = join(dir.path, 'ports.json');
  const running = startCli([
    ...args(dir.path),
    ...['--public', 'off', '--dedicated', '127.0.0.1:0', '--admin', '127.0.0.1:0'],
    ...['--listen-port-file', portFile],
  ]);
  let stopping = false;
  const died = running.exited.then((code) => {
    if (stopping) return new Promise<never>(() => {});
    throw new Error(`our node ended with ${code}:\n${running.output()}`);
  });
  died.catch(() => {});
  const stop = async (): Promise<void> => {
    stopping = true;
    await running.stop();
    await dir[Symbol.asyncDispose]();
  };
  try {
    const ports = await boundAddresses(running, portFile);
    const url = `http://${ports['dedicated']}`;
    const head = async (): Promise<Head> => {
      const { headers } = await sendBatchNoting(url, [{ method: 'eth_blockNumber', params: [] }]);
      const found = headIn(headers);
      if (found === undefined) throw new Error(`no x-chain-head from ${url}:\n${running.output()}`);
      return found;
    };
    await Promise.race([until('our node to have a head', () => head().catch(() => undefined)), died]);
    const metrics = async (): Promise<string> => (await fetch(`http://${ports['admin']}/metrics`)).text();
    const metric = async (name: string): Promise<number | undefined> => sumOf(await metrics(), name);
    return {
      url,
      isSelf: false,
      head,
      output: () => running.output(),
      died,
      metrics,
      upstreamRequests: () => metric('chain_query_upstream_requests_total'),
      lies: async () => (await metric('chain_query_upstream_lies_total')) ?? 0,
      byDiffsFrom: async () => (await metric('chain_query_by_diffs_from_block')) ?? 0,
      ready: async () =>
        (await (await fetch(`http://${ports['admin']}/readyz`)).json()) as { ready: boolean },
      taken: async () => (await metric('chain_query_taken_transactions_total')) ?? 0,
      async kill() {
        stopping = true;
        running.signal('SIGKILL');
        await running.exited;
      },
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
