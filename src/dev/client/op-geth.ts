import { createHmac, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Hex } from '../../primitives/hex.ts';
import type { ChainOptions, DevChain } from '../chain.ts';
import { runChild, startChild } from './child.ts';
import { type Engine, EngineBlock, type SealedHead } from './engine-block.ts';
import { CHAIN_ID, writeGenesis } from './genesis.ts';
import { ask } from './rpc.ts';

/** A chain that op-geth runs, told what to build through its Engine API as op-node does it. */
export async function startOpGethChain(options: ChainOptions): Promise<DevChain> {
  const { command, folder } = options;
  const genesisFile = await writeGenesis(folder);
  const secret = randomBytes(32);
  const secretFile = join(folder, 'jwt');
  await writeFile(secretFile, secret.toString('hex'), { mode: 0o600 });
  const data = ['--datadir', join(folder, 'op-geth')];
  await runChild(command, [...data, 'init', genesisFile]);
  const child = startChild(command, [
    ...data,
    ...['--networkid', String(CHAIN_ID), '--syncmode', 'full', '--rollup.disabletxpoolgossip'],
    ...['--nodiscover', '--maxpeers', '0', '--port', '0', '--nat', 'none', '--ipcdisable'],
    ...['--http', '--http.addr', options.host, '--http.port', String(options.port)],
    ...['--http.api', 'eth,net,web3,txpool,debug', '--http.corsdomain', '*'],
    ...['--authrpc.addr', '127.0.0.1', '--authrpc.port', '0', '--authrpc.jwtsecret', secretFile],
  ]);
  try {
    const url = await child.waitFor('HTTP port', (output) => boundTo(output, false));
    const engineUrl = await child.waitFor('Engine API port', (output) => boundTo(output, true));
    const engine: Engine = (method, ...params) =>
      ask(engineUrl, [method, ...params], { authorization: `Bearer ${token(secret)}` });
    const genesis = await ask<{ readonly hash: Hex; readonly timestamp: Hex }>(url, [
      'eth_getBlockByNumber',
      '0x0',
      false,
    ]);
    let head: SealedHead = { hash: genesis.hash, number: 0, timestamp: Number(genesis.timestamp) };
    return {
      client: 'op-geth',
      url,
      genesisFile,
      failed: child.failed,
      open: async () => {
        const onHead = (next: SealedHead): void => {
          head = next;
        };
        return new EngineBlock({ url, engine, parent: head, onHead });
      },
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    };
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
}

/** op-geth only says in its log which port it was given. */
function boundTo(output: string, auth: boolean): string | undefined {
  const line = output
    .split('\n')
    .find((text) => text.includes('HTTP server started') && text.includes(`auth=${auth}`));
  const endpoint = /endpoint=(\S+:[1-9]\d*)/.exec(line ?? '')?.[1];
  return endpoint === undefined ? undefined : `http://${endpoint}`;
}

/** A token of the Engine API; good for a minute. */
function token(secret: Buffer): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ iat: Math.floor(Date.now() / 1_000) })}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}
