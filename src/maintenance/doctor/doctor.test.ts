import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { workDir } from '../../../test/support/follow/imported-chain.ts';
import { executeOfficialChain, officialGenesis } from '../../../test/support/serve/executor.ts';
import { wireMessage } from '../../../test/support/source/flashblocks.ts';
import {
  answerTo,
  type Reply,
  RpcFault,
  type SeenCall,
  startFakeServer,
} from '../../../test/support/source/upstreams.ts';
import { wholeBlock } from '../../../test/support/source/whole-blocks.ts';
import { loadOptions } from '../../config/load.ts';
import { GENESIS_META } from '../../follow/rules/genesis.ts';
import { openLmdbStore } from '../../store/lmdb/index.ts';
import { examine } from './doctor.ts';
import type { Finding } from './report.ts';

const NOW = 1_800_000_000;
const UNKNOWN_CHAIN = '0x3e7';
const KNOWN_CHAIN = '0x539';

function blockAt(number: number): object {
  const hash = (of: number): string => `0x${of.toString(16).padStart(64, '0')}`;
  return {
    number: `0x${number.toString(16)}`,
    hash: hash(number + 1),
    parentHash: hash(number),
    timestamp: `0x${(NOW - 300 + number).toString(16)}`,
    stateRoot: hash(99),
    transactions: [],
  };
}

type Handle = (call: SeenCall) => unknown;

/** A chain of 300 blocks at a server that does what is asked of it, but nothing can be verified. */
const answers: Handle = ({ method, params }) => {
  switch (method) {
    case 'eth_chainId':
      return UNKNOWN_CHAIN;
    case 'eth_getBlockByNumber':
      return blockAt(['latest', 'safe', 'finalized'].includes(String(params[0])) ? 300 : Number(params[0]));
    case 'eth_getBlockByHash':
      return blockAt(Number(params[0]) - 1);
    case 'eth_getTransactionCount':
    case 'eth_getBalance':
      return '0x0';
    case 'eth_getCode':
      return '0x';
    case 'eth_getStorageAt':
      return `0x${'0'.repeat(64)}`;
    default:
      throw new RpcFault(-32601, `the method ${method} does not exist`);
  }
};

/** An upstream; `handle` stands in for the sound one where it gives anything. */
async function server(handle: Handle = () => undefined, reply?: (body: string) => Reply | undefined) {
  const fake = await startFakeServer({
    http: (body) => reply?.(body) ?? { body: answerTo(body, (call) => handle(call) ?? answers(call)) },
  });
  onTestFinished(() => fake.stop());
  return fake.http;
}

const QUIET = {
  CHAIN_QUERY_PUBLIC: '127.0.0.1:0',
  CHAIN_QUERY_DEDICATED: 'off',
  CHAIN_QUERY_ADMIN: 'off',
  CHAIN_QUERY_STORE_MAP_SIZE: '1GiB',
};

/** What was found, by what it is about. */
async function findings(args: readonly string[], now = NOW): Promise<ReadonlyMap<string, Finding>> {
  const options = loadOptions('doctor', { args, env: QUIET });
  const sections = await examine(options, { signal: new AbortController().signal, now: () => now });
  return new Map(sections.flatMap((section) => section.findings).map((finding) => [finding.what, finding]));
}

describe('doctor on upstreams', () => {
  it('examines a server as far as it can without the rules of its chain', async () => {
    const found = await findings(['--upstream', await server()]);
    expect(found.get('chain id')).toMatchObject({
      level: 'fail',
      detail: '999: its rules are not known here',
      fix: 'name its genesis file with --chain FILE',
    });
    expect(found.get('block by hash')).toMatchObject({ level: 'warn' });
    expect(found.get('state by block hash')).toMatchObject({ level: 'ok' });
    expect(found.get('depth of state')).toMatchObject({ detail: 'back to block 1: can be an --archive' });
    expect(found.get('head and clock')).toMatchObject({ level: 'ok', detail: 'block 300, 0 s old' });
    expect(found.get('batches')).toMatchObject({ detail: '100 calls in one request' });
    expect(found.get('prestate tracer')).toMatchObject({ level: 'ok' });
    expect(found.get('number')).toMatchObject({ level: 'warn' });
  });

  it('finds blocks that do not verify', async () => {
    const url = await server(({ method }) => (method === 'eth_chainId' ? KNOWN_CHAIN : undefined));
    const found = await findings(['--upstream', url]);
    expect(found.get('chain id')).toMatchObject({ level: 'ok' });
    expect(found.get('block by hash')).toMatchObject({
      level: 'fail',
      fix: expect.stringContaining('server'),
    });
  });

  it.each([
    ['not JSON', { body: '<html>' }, 'does not answer as JSON-RPC servers do'],
    ['a wrong key', { status: 401, body: '' }, 'check the key or the password'],
    ['a rate limit', { status: 429, body: '' }, 'ask for a higher limit'],
    ['a server in trouble', { status: 503, body: '' }, 'cannot answer now'],
    ['a cut connection', 'cut', 'check the URL'],
  ] as const)('says what to do about %s', async (_, reply, fix) => {
    const found = await findings(['--upstream', await server(undefined, () => reply)]);
    expect(found.get('reachable')).toMatchObject({ level: 'fail', fix: expect.stringContaining(fix) });
    expect(found.get('upstreams')).toMatchObject({ level: 'fail', detail: 'none can be used' });
  });

  it('finds a server that cannot read state by block hash', async () => {
    const url = await server(({ params }) => {
      if (params.some((param) => typeof param === 'object')) throw new RpcFault(-32602, 'invalid argument');
      return undefined;
    });
    const found = await findings(['--upstream', url, '--verify-state']);
    expect(found.get('state by block hash')).toMatchObject({
      level: 'fail',
      detail: 'invalid argument (-32602)',
      fix: expect.stringContaining('EIP-1898'),
    });
    expect(found.get('depth of state')).toMatchObject({ level: 'warn' });
    expect(found.get('eth_getProof')).toMatchObject({ level: 'fail' });
  });

  it.each([
    [127, 'ok', 'of the last 127 blocks, 127 s; no archive'],
    [26, 'warn', 'of the last 26 blocks, 26 s'],
    [0, 'warn', 'of the last 0 blocks, 0 s'],
    [-1, 'warn', 'none, not even of its head'],
  ])('finds how deep state goes: %s blocks (B18)', async (depth, level, detail) => {
    const url = await server(({ method, params }) => {
      const at = params[1] as { readonly blockHash?: string } | undefined;
      if (method !== 'eth_getBalance' || Number(at?.blockHash) - 1 >= 300 - depth) return undefined;
      throw new RpcFault(-32000, 'missing trie node');
    });
    expect((await findings(['--upstream', url])).get('depth of state')).toMatchObject({ level, detail });
  });

  it('finds a server that refuses batches', async () => {
    const refusal = JSON.stringify({ id: null, error: { code: -32600, message: 'batches are not allowed' } });
    const url = await server(undefined, (body) => (body.startsWith('[') ? { body: refusal } : undefined));
    expect((await findings(['--upstream', url])).get('batches')).toMatchObject({
      level: 'warn',
      detail: 'refused',
    });
  });

  it('compares the head with the clock', async () => {
    const url = await server();
    const late = await findings(['--upstream', url], NOW + 600);
    expect(late.get('head and clock')).toMatchObject({ level: 'warn', detail: 'block 300 is 600 s old' });
    const early = await findings(['--upstream', url], NOW - 600);
    expect(early.get('head and clock')).toMatchObject({
      level: 'fail',
      fix: expect.stringContaining('clock'),
    });
  });

  it('finds upstreams of different chains, and of different forks', async () => {
    const one = await server();
    const other = await server(({ method }) => (method === 'eth_chainId' ? '0x3e8' : undefined));
    const chains = await findings(['--upstream', one, '--upstream', other]);
    expect(chains.get('chain')).toMatchObject({
      level: 'fail',
      detail: 'they are of different chains: 999, 1000',
    });
    const fork = await server(({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === '0x129'
        ? { ...blockAt(297), hash: `0x${'f'.repeat(64)}` }
        : undefined,
    );
    const forks = await findings(['--upstream', one, '--upstream', fork]);
    expect(forks.get('leader')).toMatchObject({ level: 'ok', detail: expect.stringContaining(one) });
    expect(forks.get('agreement')).toMatchObject({
      level: 'fail',
      detail: expect.stringContaining('block 297 differs'),
    });
    expect((await findings(['--upstream', one, '--upstream', one])).get('agreement')).toMatchObject({
      level: 'ok',
    });
  });
});

describe('doctor on the store and the machine', () => {
  it('looks at a store and at what upstreams say of it', async () => {
    await using dir = await workDir();
    const [genesis] = await executeOfficialChain();
    if (genesis === undefined) throw new Error('there is no genesis block');
    const store = await openLmdbStore({ path: dir.data, mapSizeBytes: 2 ** 30 });
    await store.setMeta(GENESIS_META, officialGenesis().text);
    await store.append([genesis]);
    await store.close();
    const alone = await findings(['--data', dir.data]);
    expect(alone.get('store')).toMatchObject({
      level: 'ok',
      detail: expect.stringContaining('blocks 0 to 0'),
    });
    expect(alone.get('size')).toMatchObject({
      level: 'ok',
      detail: expect.stringContaining('of at most 1.0 GiB'),
    });
    expect(alone.get('disk')).toBeDefined();

    const foreign = await findings(['--data', dir.data, '--upstream', await server()]);
    expect(foreign.get('chain')).toMatchObject({
      level: 'fail',
      detail: expect.stringContaining('chain 999'),
    });

    const id = `0x${BigInt(JSON.parse(officialGenesis().config).chainId as number).toString(16)}`;
    const own = await server(({ method }) => (method === 'eth_chainId' ? id : undefined));
    const beside = await findings(['--data', dir.data, '--upstream', own]);
    expect(beside.get('same chain')).toMatchObject({ level: 'warn' });
  });

  it('takes no store for what will be one, and a foreign file for what it is', async () => {
    await using dir = await workDir();
    expect((await findings(['--data', dir.data])).get('store')).toMatchObject({ level: 'ok' });
    await mkdir(dir.data);
    expect((await findings(['--data', dir.data])).get('store')).toMatchObject({ level: 'ok' });
    await writeFile(join(dir.data, 'data.mdb'), 'something else, but long enough to be read '.repeat(1_000));
    expect((await findings(['--data', dir.data])).get('store')).toMatchObject({ level: 'fail' });
  });

  it('finds a port that is in use, and one that cannot be had', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void holder.close());
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const args = ['--dedicated', `127.0.0.1:${port}`, '--admin', '192.0.2.1:8547'];
    const found = await findings(args);
    expect(found.get('admin port')).toMatchObject({ level: 'fail' });
    expect(found.get('dedicated port')).toMatchObject({
      level: 'warn',
      detail: `127.0.0.1:${port} is in use`,
    });
    expect(found.get('node')).toMatchObject({ level: 'ok' });
    expect(found.get('memory')).toBeDefined();
  });
});

describe('doctor on streams of flashblocks', () => {
  it('says how often and for which block one sends', async () => {
    const fake = await startFakeServer({});
    onTestFinished(() => fake.stop());
    const timer = setInterval(() => {
      const texts = [0, 1, 2, 3].map((index) => JSON.stringify(wireMessage({ number: 7, index })));
      for (const socket of fake.sockets) for (const text of ['hello', ...texts]) socket.send(text);
    }, 20);
    onTestFinished(() => clearInterval(timer));
    const found = await findings(['--flashblocks', fake.ws]);
    expect(found.get('stream')).toMatchObject({
      level: 'ok',
      detail: expect.stringMatching(/^a raw stream: 6 flashblocks, .* block 7$/),
    });
    expect(found.get('messages')).toMatchObject({ level: 'warn' });
  });

  it('says when nothing comes', async () => {
    const fake = await startFakeServer({});
    onTestFinished(() => fake.stop());
    const silent = await findings(['--flashblocks', fake.ws, '--flashblock-silence-ms', '50']);
    expect(silent.get('stream')).toMatchObject({
      level: 'fail',
      detail: expect.stringMatching('no flashblock for 50 ms'),
    });
  });

  it('says what an http URL has as its pending block, and what it lacks', async () => {
    const block = (at: number) => wholeBlock(7, 'abcdef'.split('').slice(0, at + 1), { receiptsRoot: null });
    const fake = await startFakeServer({
      http: (_, at) => ({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: block(at) }) }),
    });
    onTestFinished(() => fake.stop());
    const found = await findings(['--flashblocks', fake.http, '--flashblock-poll-ms', '100']);
    expect(found.get('stream')).toMatchObject({
      level: 'ok',
      detail: expect.stringMatching(/^whole blocks by polling pending: \d flashblocks, .* block 7$/),
    });
    expect(found.get('roots')).toMatchObject({ level: 'warn' });
    const none = await startFakeServer({ http: () => ({ body: '{"jsonrpc":"2.0","id":1,"result":null}' }) });
    onTestFinished(() => none.stop());
    const without = await findings(['--flashblocks', none.http, '--flashblock-silence-ms', '100']);
    expect(without.get('stream')).toMatchObject({
      level: 'fail',
      detail: expect.stringContaining('a pending block that cannot be used'),
    });
  });
});
