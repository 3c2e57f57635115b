import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { boundTo, type Geth, jwt, orReport, quiet, roomy } from './geth.ts';
import { type OpGenesisOptions, opChainId, opGenesis } from './op-genesis.ts';
import { opGethBinary } from './paths.ts';
import { runToEnd, start, tempDir, until } from './process.ts';
import { request, send } from './rpc-client.ts';

/** The Engine API of a node: what a consensus client calls. */
export type Engine = <T>(method: string, ...params: readonly unknown[]) => Promise<T>;

export interface OpGeth extends Geth {
  readonly ws: string;
  readonly engine: Engine;
  readonly genesisFile: string;
  /** Ends it without warning. */
  kill(): Promise<void>;
}

export interface OpGethOptions {
  readonly genesis?: OpGenesisOptions;
  /** Keep every state; otherwise only the last 128, as an ordinary upstream does. */
  readonly archive?: boolean;
  /** Whether it tells what blocks did to the state. */
  readonly debug?: boolean;
}

function engineOf(url: string, secret: Buffer): Engine {
  return async (method, ...params) => {
    const answer = await send(url, { method, params }, { authorization: `Bearer ${jwt(secret)}` });
    if ('error' in answer) throw new Error(`${method} failed: ${JSON.stringify(answer.error)}`);
    return answer.result as never;
  };
}

/** An OP-stack execution client on a chain of its own, which grows when `OpSequencer` tells it to. */
export async function startOpGeth(options: OpGethOptions = {}): Promise<OpGeth> {
  const binary = opGethBinary();
  const dir = await tempDir('op-geth');
  const secret = randomBytes(32);
  const secretFile = join(dir.path, 'jwt');
  const genesisFile = join(dir.path, 'genesis.json');
  await writeFile(secretFile, secret.toString('hex'));
  await writeFile(genesisFile, JSON.stringify(opGenesis(options.genesis)));
  // The hash scheme keeps every state; the path scheme only serves the last 128.
  const scheme = ['--datadir', dir.path, '--state.scheme', options.archive ? 'hash' : 'path'];
  await runToEnd(binary, [...scheme, 'init', genesisFile]);
  const api = options.debug ? 'eth,net,web3,debug' : 'eth,net,web3';
  const running = start(binary, [
    ...scheme,
    ...['--gcmode', options.archive ? 'archive' : 'full', '--syncmode', 'full'],
    ...['--networkid', String(opChainId), '--rollup.disabletxpoolgossip'],
    ...quiet,
    ...['--http', '--http.addr', '127.0.0.1', '--http.port', '0', '--http.api', api],
    ...['--ws', '--ws.addr', '127.0.0.1', '--ws.port', '0', '--ws.api', api],
    ...roomy,
    ...['--authrpc.addr', '127.0.0.1', '--authrpc.port', '0', '--authrpc.jwtsecret', secretFile],
  ]);
  const url = await orReport(running, boundTo(running, false));
  const engine = engineOf(await orReport(running, boundTo(running, true)), secret);
  const ws = await orReport(
    running,
    until(
      "op-geth's websocket port",
      () => /WebSocket enabled\s+url=(ws:\S+:[1-9]\d*)/.exec(running.output())?.[1],
    ),
  );
  await until('op-geth to answer', () => request(url, 'eth_blockNumber').catch(() => undefined));
  const stop = async (): Promise<void> => {
    await running.stop();
    await dir[Symbol.asyncDispose]();
  };
  const kill = async (): Promise<void> => {
    running.signal('SIGKILL');
    await running.exited;
  };
  return { url, ws, engine, genesisFile, dataDir: dir.path, kill, stop, [Symbol.asyncDispose]: stop };
}
