import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type LiveChain,
  type LiveGeth,
  startLiveAnvil,
  startLiveGeth,
} from '../support/servers/live-chain.ts';
import { type TempDir, tempDir } from '../support/servers/process.ts';
import { runProgram } from '../support/servers/serving.ts';
import { owner } from '../support/workload/token.ts';

const ports = ['--public', '127.0.0.1:0', '--dedicated', '127.0.0.1:0', '--admin', 'off'] as const;

let dir: TempDir;
let geth: LiveGeth;
let anvil: LiveChain;

beforeAll(async () => {
  dir = await tempDir('doctor');
  [geth, anvil] = await Promise.all([startLiveGeth(), startLiveAnvil()]);
  for (const chain of [geth, anvil]) {
    for (let left = 3; left > 0; left--) await chain.send({ to: owner.address });
  }
});
afterAll(async () => {
  await geth?.[Symbol.asyncDispose]();
  await anvil?.[Symbol.asyncDispose]();
  await dir?.[Symbol.asyncDispose]();
});

async function doctor(...args: readonly string[]): Promise<{ code: number | string; output: string }> {
  return runProgram(['doctor', ...ports, ...args]);
}

it('finds nothing wrong with geth, over HTTP and WebSocket', async () => {
  const upstreams = ['--upstream', geth.http, '--upstream', geth.ws];
  const { code, output } = await doctor(...upstreams, '--data', join(dir.path, 'data'));
  expect(output).not.toMatch(/^ {2}fail/m);
  expect(code).toBe(0);
  for (const line of [
    /ok +chain id +1337$/m,
    /ok +block by hash +block \d+ verifies \(transactions: 1\)/,
    /ok +receipts +those of block \d+ verify/,
    /ok +state by block hash/,
    /ok +eth_getProof +proves state/,
    /ok +prestate tracer +not offered, and not needed/,
    /ok +batches +100 calls in one request/,
    /ok +new heads +announced/,
    /ok +agreement +block \d+ is the same at all of them/,
    /ok +store +does not exist yet/,
    /ok +disk /,
    /ok +node +v2/,
  ]) {
    expect(output).toMatch(line);
  }
});

it('finds nothing wrong with anvil', async () => {
  const { code, output } = await doctor('--upstream', anvil.http);
  expect(output).not.toMatch(/^ {2}fail/m);
  expect(code).toBe(0);
  expect(output).toMatch(/ok +block by hash +block \d+ verifies \(transactions: 1\)/);
});

it('says that chains differ, and who is away', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const away = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await once(server.close(), 'close');
  const { code, output } = await doctor(
    '--upstream',
    geth.http,
    '--upstream',
    anvil.http,
    '--upstream',
    away,
  );
  expect(code).toBe(3);
  expect(output).toMatch(/fail +chain +they are of different chains: 1337, 31337/);
  expect(output).toMatch(/fail +reachable +ECONNREFUSED .*→ check the URL/);
  expect(output).toMatch(/^will not work: reachable \(upstream .*chain \(upstreams together\)/m);
});

it('gives a script its verdict', async () => {
  const { code, output } = await doctor('--upstream', anvil.http, '--json');
  expect(code).toBe(0);
  expect(JSON.parse(output)).toMatchObject({
    verdict: 'works',
    sections: expect.arrayContaining([
      {
        title: `upstream ${anvil.http}`,
        findings: expect.arrayContaining([{ level: 'ok', what: 'chain id', detail: '31337' }]),
      },
    ]),
  });
});
