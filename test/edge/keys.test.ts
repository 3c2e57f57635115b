import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FetchRequest, JsonRpcProvider } from 'ethers';
import { SignJWT } from 'jose';
import { createPublicClient, http } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type OurNode, startOurNode } from '../support/servers/node.ts';
import { type TempDir, tempDir, until } from '../support/servers/process.ts';
import { runProgram } from '../support/servers/serving.ts';
import { call, curl, type Shown } from './curl.ts';

const ADDRESS = '0x0300100f529a704d19736a8714837adbc934db7f';
const LOGS_OF_20 = call('eth_getLogs', { fromBlock: '0x1', toBlock: '0x14' });

let dir: TempDir;
let node: OurNode;
let keyFile: string;
/** Everything that lets somebody in. */
const secrets: string[] = [];

async function addKey(...grant: readonly string[]): Promise<string> {
  const { code, output } = await runProgram([
    ...['keys', 'add', '--keys', keyFile, '--key-name', 'of a test', ...grant],
  ]);
  expect(code, output).toBe(0);
  const key = output.trim();
  secrets.push(key);
  return key;
}

async function revokeKey(key: string): Promise<void> {
  const id = key.split('_')[1] ?? '';
  const { code, output } = await runProgram(['keys', 'revoke', '--keys', keyFile, '--key-id', id]);
  expect(code, output).toBe(0);
}

const bearer = (credential: string): readonly string[] => [`authorization: Bearer ${credential}`];
const statusWith = async (credential: string, body?: unknown): Promise<number> =>
  (await curl(node.dedicatedUrl, { headers: bearer(credential), body })).status;

const { privateKey: es256, publicKey: es256Public } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const { privateKey: eddsa, publicKey: eddsaPublic } = generateKeyPairSync('ed25519');
const hs256 = randomBytes(32);

const SIGNING = { HS256: hs256, ES256: es256, EdDSA: eddsa } as const;

async function token(alg: keyof typeof SIGNING, claims: Record<string, unknown> = {}): Promise<string> {
  const signed = await new SignJWT({ sub: 'of a test', ...claims })
    .setProtectedHeader({ alg, kid: alg })
    .setExpirationTime(typeof claims['exp'] === 'number' ? claims['exp'] : '5 minutes')
    .sign(SIGNING[alg]);
  secrets.push(signed);
  return signed;
}

beforeAll(async () => {
  dir = await tempDir('edge');
  keyFile = join(dir.path, 'keys.json');
  const jwks = join(dir.path, 'jwks.json');
  const keys = [
    { kty: 'oct', k: hs256.toString('base64url'), alg: 'HS256', kid: 'HS256' },
    { ...es256Public.export({ format: 'jwk' }), alg: 'ES256', kid: 'ES256' },
    { ...eddsaPublic.export({ format: 'jwk' }), alg: 'EdDSA', kid: 'EdDSA' },
  ];
  secrets.push(hs256.toString('base64url'));
  await writeFile(jwks, JSON.stringify({ keys }));
  await addKey();
  node = await startOurNode(['--keys', keyFile, '--jwks', jwks, '--log-level', 'trace']);
});
afterAll(async () => {
  await node?.stop();
  await dir?.[Symbol.asyncDispose]();
});

describe('a dedicated endpoint with keys (B9)', () => {
  it('serves a key in a header, as a bearer and in the path, by curl', async () => {
    const [key = ''] = secrets.filter((secret) => secret.startsWith('cq_'));
    expect(await statusWith(key)).toBe(200);
    expect((await curl(node.dedicatedUrl, { headers: [`x-api-key: ${key}`] })).status).toBe(200);
    expect((await curl(`${node.dedicatedUrl}/v1/${key}`)).status).toBe(200);
  });

  it('answers 401 without one, and the public endpoint asks for none', async () => {
    const refused = await curl(node.dedicatedUrl);
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect(JSON.parse(refused.body)).toMatchObject({ id: null, error: { code: -32600 } });
    const wrong = `cq_${'0'.repeat(12)}_${'A'.repeat(43)}`;
    for (const credential of [wrong, 'x', 'e30.e30.e30']) expect(await statusWith(credential)).toBe(401);
    expect((await curl(node.publicUrl)).status).toBe(200);
  });

  it('is used by viem and ethers with their own settings', async () => {
    const key = await addKey();
    await until('the key to be read', async () => ((await statusWith(key)) === 200 ? true : undefined));
    const fetchOptions = { headers: { 'x-api-key': key } };
    const viem = createPublicClient({ transport: http(node.dedicatedUrl, { fetchOptions }) });
    expect(await viem.getTransactionCount({ address: ADDRESS })).toBe(1);
    const request = new FetchRequest(node.dedicatedUrl);
    request.setHeader('authorization', `Bearer ${key}`);
    const ethers = new JsonRpcProvider(request, undefined, { staticNetwork: true });
    expect(await ethers.getTransactionCount(ADDRESS)).toBe(1);
    ethers.destroy();
    const refused = createPublicClient({ transport: http(node.dedicatedUrl) });
    await expect(refused.getBlockNumber()).rejects.toThrow(
      /unauthorized: a valid API key or token is needed/,
    );
  });

  it('asks at the upgrade to WebSocket', async () => {
    const url = node.dedicatedUrl.replace('http', 'ws');
    const [key = ''] = secrets.filter((secret) => secret.startsWith('cq_'));
    const open = new WebSocket(`${url}/${key}`);
    await once(open, 'open');
    open.send(JSON.stringify(call('eth_blockNumber')));
    expect(String((await once(open, 'message'))[0])).toContain('"result":"0x36"');
    open.terminate();
    const closed = new WebSocket(url);
    const [error] = (await once(closed, 'error')) as [Error];
    expect(error.message).toContain('401');
  });

  it.each(['HS256', 'ES256', 'EdDSA'] as const)('takes tokens of %s, with what they may do', async (alg) => {
    expect(await statusWith(await token(alg))).toBe(200);
    const narrow = await token(alg, { chain_query: { methods: ['eth_blockNumber'] } });
    expect(await statusWith(narrow)).toBe(403);
    expect(await statusWith(narrow, call('eth_blockNumber'))).toBe(200);
    // What is not understood is never a wider grant.
    expect(await statusWith(await token(alg, { chain_query: { everything: true } }))).toBe(401);
    expect(await statusWith(await token(alg, { exp: 1 }))).toBe(401);
    expect(await statusWith(`${(await token(alg)).slice(0, -4)}AAAA`)).toBe(401);
  });

  it('holds keys to methods, ranges, results and a rate of their own', async () => {
    const key = await addKey(
      ...['--key-methods', 'eth_getLogs,eth_blockNumber', '--key-logs-range', '10b'],
      ...['--key-logs-results', '1000', '--key-rate', '5'],
    );
    await until('the key to be read', async () =>
      (await statusWith(key, call('eth_blockNumber'))) === 200 ? true : undefined,
    );
    expect(await statusWith(key, call('eth_chainId'))).toBe(403);
    const wide = await curl(node.dedicatedUrl, { headers: bearer(key), body: LOGS_OF_20 });
    expect(JSON.parse(wide.body)).toMatchObject({ error: { code: expect.any(Number) } });
    const answers: Shown[] = [];
    for (let left = 80; left > 0; left -= 1) {
      const answer = await curl(node.dedicatedUrl, { headers: bearer(key), body: call('eth_blockNumber') });
      answers.push(answer);
      if (answer.status !== 200) break;
    }
    const last = answers.at(-1);
    expect(last?.status).toBe(429);
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.parse(last?.body ?? '')).toMatchObject({
      error: { code: 429, message: expect.stringContaining('too many requests, rate limit') },
    });
  });

  it('changes keys without a dropped request', { timeout: 60_000 }, async () => {
    const first = await addKey();
    await until('the key to be read', async () => ((await statusWith(first)) === 200 ? true : undefined));
    let current = first;
    const statuses: number[] = [];
    const over = new AbortController();
    const client = (async () => {
      while (!over.signal.aborted) {
        const headers = { 'content-type': 'application/json', 'x-api-key': current };
        const body = JSON.stringify(call('eth_blockNumber'));
        statuses.push((await fetch(node.dedicatedUrl, { method: 'POST', headers, body })).status);
      }
    })();
    for (let round = 0; round < 3; round += 1) {
      const next = await addKey();
      await until('the new key to be read', async () =>
        (await statusWith(next)) === 200 ? true : undefined,
      );
      const old = current;
      current = next;
      // What is under way with the old one is answered first.
      await new Promise((resolve) => setTimeout(resolve, 50));
      await revokeKey(old);
      await until('the old key to be refused', async () =>
        (await statusWith(old)) === 401 ? true : undefined,
      );
    }
    over.abort();
    await client;
    expect(statuses.length).toBeGreaterThan(100);
    expect(statuses.every((status) => status === 200)).toBe(true);
  });

  it('goes on with the keys it has when the file cannot be understood', async () => {
    const [key = ''] = secrets.filter((secret) => secret.startsWith('cq_'));
    const broken = join(dir.path, 'broken.json');
    await writeFile(broken, '{');
    const refused = await runProgram(['serve', '--data', dir.path, '--keys', broken]);
    expect(refused.code).toBe(2);
    expect(await statusWith(key)).toBe(200);
  });

  it('does not listen beyond loopback without keys', async () => {
    const { code, output } = await runProgram(['serve', '--data', dir.path, '--dedicated', '0.0.0.0:0']);
    expect(code).toBe(2);
    expect(output).toContain('--keys');
  });
});

// After all others.
it('never writes what lets somebody in, at any level of the log', () => {
  const output = node.running.output();
  expect(output.length).toBeGreaterThan(0);
  for (const secret of secrets) {
    // What follows the id; it may itself have an underscore, also at first.
    const shown = /^cq_[^_]+_(.+)$/.exec(secret)?.[1] ?? secret;
    expect(output.includes(shown)).toBe(false);
  }
});
