import { createHmac, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gethBinary, officialChain } from './paths.ts';
import { type Running, runToEnd, start, tempDir, until } from './process.ts';
import { request, send } from './rpc-client.ts';

export interface Geth extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
  stop(): Promise<void>;
}

export const quiet = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--nat', 'none'];
const http = [
  '--http',
  '--http.addr',
  '127.0.0.1',
  '--http.port',
  '0',
  '--http.api',
  'eth,net,web3,debug,admin',
];
// Above what any test asks for, so that only our own limits show.
export const roomy = ['--rpc.batch-request-limit', '1000', '--rpc.batch-response-max-size', '100000000'];

/** geth only says in its log which port it was given. */
export function boundTo(geth: Running, auth: boolean): Promise<string> {
  return until(`geth's ${auth ? 'engine' : 'http'} port`, () => {
    for (const line of geth.output().split('\n')) {
      if (!line.includes('HTTP server started') || !line.includes(`auth=${auth}`)) continue;
      const endpoint = /endpoint=(\S+)/.exec(line)?.[1];
      if (endpoint !== undefined) return `http://${endpoint}`;
    }
    return undefined;
  });
}

export function jwt(secret: Buffer): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ iat: Math.floor(Date.now() / 1000) })}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

export async function orReport<T>(geth: Running, work: Promise<T>): Promise<T> {
  const died = geth.exited.then((code) => {
    throw new Error(`geth ended with ${code}:\n${geth.output()}`);
  });
  try {
    return await Promise.race([work, died]);
  } catch (error) {
    await geth.stop();
    throw error;
  }
}

export interface ArchiveChain {
  readonly genesis: string;
  readonly blocks: string;
  readonly networkId: string;
  /** File with the Engine API call that says which block is head, safe and finalized. */
  readonly forkchoice?: string;
}

/** An archive node holding a chain; the official one with head, safe and finalized as its authors mean them. */
export async function startArchiveGeth(
  chain: ArchiveChain = officialChain,
  binary = gethBinary(),
): Promise<Geth> {
  const dir = await tempDir('geth');
  const secret = randomBytes(32);
  const secretFile = join(dir.path, 'jwt');
  await writeFile(secretFile, secret.toString('hex'));
  // The hash scheme keeps every state; the path scheme only serves the last 128.
  const scheme = ['--datadir', dir.path, '--state.scheme', 'hash'];
  await runToEnd(binary, [...scheme, 'init', chain.genesis]);
  await runToEnd(binary, [...scheme, '--gcmode', 'archive', 'import', chain.blocks]);
  const running = start(binary, [
    ...scheme,
    ...['--gcmode', 'archive', '--syncmode', 'full', '--networkid', chain.networkId],
    ...quiet,
    ...http,
    ...roomy,
    ...['--authrpc.addr', '127.0.0.1', '--authrpc.port', '0', '--authrpc.jwtsecret', secretFile],
  ]);
  const url = await orReport(running, boundTo(running, false));
  if (chain.forkchoice !== undefined) {
    const engine = await orReport(running, boundTo(running, true));
    const forkchoice = JSON.parse(await readFile(chain.forkchoice, 'utf8'));
    const updated = await send(engine, forkchoice, { authorization: `Bearer ${jwt(secret)}` });
    if ('error' in updated) throw new Error(`geth refused the forkchoice: ${JSON.stringify(updated.error)}`);
  }
  // Logs are served from an index that geth builds in the background.
  await until('geth to index its logs', async () => {
    const logs = await request<readonly unknown[]>(url, 'eth_getLogs', [
      { fromBlock: '0x0', toBlock: 'latest' },
    ]);
    return logs.length > 0 ? logs : undefined;
  });
  const stop = async (): Promise<void> => {
    await running.stop();
    await dir[Symbol.asyncDispose]();
  };
  return { url, dataDir: dir.path, stop, [Symbol.asyncDispose]: stop };
}

export interface DevGeth extends Geth {
  /** Stops the node and keeps its data, so that `exportChain` can read it. */
  halt(): Promise<void>;
}

/** A live development chain that seals a block for each transaction. */
export async function startDevGeth(): Promise<DevGeth> {
  const dir = await tempDir('geth-dev');
  const flags = ['--dev', '--datadir', dir.path, '--state.scheme', 'hash', '--gcmode', 'archive'];
  const running = start(gethBinary(), [...flags, ...quiet, ...http, ...roomy]);
  const url = await orReport(running, boundTo(running, false));
  await until('geth --dev to answer', () => request(url, 'eth_blockNumber').catch(() => undefined));
  const stop = async (): Promise<void> => {
    await running.stop();
    await dir[Symbol.asyncDispose]();
  };
  return { url, dataDir: dir.path, halt: () => running.stop(), stop, [Symbol.asyncDispose]: stop };
}

/** A chain of a block a second, from a genesis file, whose forks may begin while it runs. */
export async function startForkingGeth(genesis: object): Promise<Geth> {
  const dir = await tempDir('geth-forking');
  const file = join(dir.path, 'genesis.json');
  await writeFile(file, JSON.stringify(genesis));
  const data = ['--datadir', join(dir.path, 'data')];
  await runToEnd(gethBinary(), [...data, 'init', file]);
  const running = start(gethBinary(), ['--dev', '--dev.period', '1', ...data, ...quiet, ...http, ...roomy]);
  const url = await orReport(running, boundTo(running, false));
  await until('geth to answer', () => request(url, 'eth_blockNumber').catch(() => undefined));
  const stop = async (): Promise<void> => {
    await running.stop();
    await dir[Symbol.asyncDispose]();
  };
  return { url, dataDir: dir.path, stop, [Symbol.asyncDispose]: stop };
}

/** Writes blocks 1 to `last` of a halted node's data directory as RLP, and its genesis beside them. */
export async function exportChain(
  dataDir: string,
  last: number,
  to: { readonly genesis: string; readonly blocks: string },
): Promise<void> {
  const flags = ['--datadir', dataDir, '--state.scheme', 'hash'];
  await runToEnd(gethBinary(), [...flags, 'export', to.blocks, '1', String(last)]);
  const dumped = await runToEnd(gethBinary(), [...flags, 'dumpgenesis']);
  const json = dumped.split('\n').find((line) => line.startsWith('{'));
  if (json === undefined) throw new Error(`geth dumpgenesis gave no genesis:\n${dumped}`);
  await writeFile(to.genesis, json);
}
