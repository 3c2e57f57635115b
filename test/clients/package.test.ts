import { join } from 'node:path';
import { createPublicClient, createWalletClient, http, parseAbiItem, type TransactionReceipt } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  chainQueryActions,
  chainQueryHttp,
  getLogPages,
  type LogEvent,
  watchChainLogs,
} from '../../packages/client/src/index.ts';
import { ACCOUNTS, COUNTER, writeGenesis } from '../../src/dev/client/genesis.ts';
import { abi, chain } from '../e2e/dev-chain.ts';
import { startTcpProxy } from '../support/proxies/tcp-proxy.ts';
import { boundAddresses } from '../support/servers/node.ts';
import { tempDir, until } from '../support/servers/process.ts';
import { startProgram } from '../support/servers/serving.ts';
import { startBalancer } from './balancer.ts';
import { examplesOf, runExample } from './examples.ts';

const readme = 'packages/client/README.md';
const event = parseAbiItem('event Incremented(address indexed by, uint256 count)');
const counter = { address: COUNTER.address, abi } as const;
const account = privateKeyToAccount(ACCOUNTS[0].key);

const dev = inject('dev');

let nextNonce = 0;

/** Sends so many transactions to the chain's client, and waits until each is pre-confirmed. */
async function increment(times: number): Promise<void> {
  const wallet = createWalletClient({ account, chain, transport: http(dev.chainUrl) });
  const reader = createPublicClient({ chain, transport: http(dev.url) });
  const count = () => reader.getTransactionCount({ address: account.address, blockTag: 'pending' });
  for (let left = times; left > 0; left -= 1) {
    const nonce = await count();
    expect(nonce, 'nobody else sends, and nothing is taken back').toBeGreaterThanOrEqual(nextNonce);
    nextNonce = nonce + 1;
    // viem sends again what it got no answer to.
    await wallet.writeContract({ ...counter, functionName: 'increment', nonce }).catch((error: unknown) => {
      if (!String(error).includes('already known')) throw error;
    });
    await until('the transaction', async () => ((await count()) > nonce ? true : undefined));
  }
}

/** Another node on the chain of `dev`, which hears everything later. */
async function startBehind(delayMs: number) {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await tempDir('behind'));
  const upstream = starting.use(await startTcpProxy(dev.chainUrl, delayMs));
  const stream = starting.use(await startTcpProxy(dev.flashblocksUrl, delayMs));
  const portFile = join(folder.path, 'ports.json');
  const running = startProgram([
    ...['serve', '--data', join(folder.path, 'data'), '--chain', await writeGenesis(folder.path)],
    ...['--upstream', upstream.url, '--upstream-poll-ms', '100', '--flashblocks', stream.url],
    ...['--public', '127.0.0.1:0', '--dedicated', 'off', '--admin', 'off', '--listen-port-file', portFile],
  ]);
  starting.defer(() => running.stop().then(() => undefined));
  const { public: place } = await boundAddresses(running, portFile);
  const url = `http://${place}`;
  await until('its first pre-confirmed block', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    await response.body?.cancel();
    return /^\d/.test(response.headers.get('x-chain-pending') ?? '') ? true : undefined;
  });
  const resources = starting.move();
  return { url, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

describe('the examples of the README', () => {
  const run = (name: string): Promise<string> =>
    runExample(readme, name, {
      'http://127.0.0.1:8545': dev.url,
      'http://127.0.0.1:8555': dev.chainUrl,
    });

  it('are all run here', () => {
    expect([...examplesOf(readme).keys()]).toEqual(['reads', 'watch', 'pages', 'send', 'capabilities']);
  });

  it('reads', async () => {
    expect(await run('reads')).toMatch(/^count \d+ at \d+(;\d+)?\n$/);
  });

  it('watches', async () => {
    await increment(1);
    expect(await run('watch')).toMatch(/^\+ 1 in block \d+\n/);
  });

  it('pages', async () => {
    expect(await run('pages')).toMatch(/^\d+ logs\n$/);
  });

  it('sends', async () => {
    expect(await run('send')).toMatch(/^success in block \d+ after \d+ ms\n$/);
  });

  it('says what a node offers', async () => {
    expect(await run('capabilities')).toContain('resume: yes');
  });
});

describe('reads behind a balancer (B3)', () => {
  let behind: Awaited<ReturnType<typeof startBehind>>;
  beforeAll(async () => {
    behind = await startBehind(400);
  });
  afterAll(() => behind?.[Symbol.asyncDispose]());

  it('never go backwards, though one node is behind', async () => {
    const backwards = [0, 0];
    const over = new AbortController();
    await using plain = await startBalancer([dev.url, behind.url]);
    await using own = await startBalancer([dev.url, behind.url]);
    const read = async (at: number, transport: typeof http | typeof chainQueryHttp): Promise<void> => {
      const balancer = at === 0 ? plain : own;
      const client = createPublicClient({ chain, transport: transport(balancer.url, { batch: true }) });
      let [latest, pending] = [0n, 0];
      while (!over.signal.aborted) {
        const [number, nonce] = await Promise.all([
          client.getBlockNumber({ cacheTime: 0 }),
          client.getTransactionCount({ address: account.address, blockTag: 'pending' }),
        ]);
        if (number < latest || nonce < pending) backwards[at] = (backwards[at] ?? 0) + 1;
        [latest, pending] = [number, nonce];
      }
    };
    const reading = [http, chainQueryHttp].map((transport, at) => read(at, transport));
    // Until there was something to go back to, and each node was asked.
    const isEnough = (): boolean => (backwards[0] ?? 0) > 0 && Math.min(...plain.passed, ...own.passed) > 2;
    for (let left = 60; left > 0 && !isEnough(); left -= 1) await increment(1);
    over.abort();
    await Promise.all(reading);
    expect(isEnough()).toBe(true);
    expect(backwards[1]).toBe(0);
  });

  it('see what a message told, whichever node they reach', async () => {
    await using balancer = await startBalancer([behind.url, dev.url]);
    const client = createPublicClient({ chain, transport: chainQueryHttp(balancer.url) });
    const reads: Promise<boolean>[] = [];
    const unwatch = watchChainLogs(client, {
      ...{ address: COUNTER.address, event, webSocketUrl: dev.url.replace('http', 'ws') },
      onEvent: ({ type, log }) => {
        if (type === 'retracted') return;
        const count = client.readContract({ ...counter, functionName: 'count', blockTag: 'pending' });
        reads.push(count.then((now) => now >= log.args.count));
      },
    });
    await increment(6);
    await until('the reads', () => (reads.length >= 6 ? true : undefined));
    unwatch();
    expect(await Promise.all(reads)).not.toContain(false);
  });
});

describe('watching (B11)', () => {
  it('tells each log once through disconnects, on our node and on another', async () => {
    await using proxy = await startTcpProxy(dev.url);
    const ours = createPublicClient({ chain, transport: chainQueryHttp(dev.url) });
    const theirs = createPublicClient({ chain, transport: http(dev.chainUrl), pollingInterval: 100 });
    const fromBlock = await ours.getBlockNumber();
    const held: LogEvent<typeof event>[][] = [[], []];
    const errors: Error[] = [];
    const filter = { address: COUNTER.address, event, fromBlock } as const;
    const ends = [
      watchChainLogs(ours, {
        ...{ ...filter, kind: 'logs', webSocketUrl: proxy.url.replace('http', 'ws') },
        onEvent: (told) => held[0]?.push(told),
        onError: (error) => errors.push(error),
      }),
      watchChainLogs(theirs, { ...filter, onEvent: (told) => held[1]?.push(told) }),
    ];
    for (let round = 0; round < 4; round += 1) {
      await increment(2);
      proxy.cut();
    }
    const isThere = async (): Promise<true | undefined> => {
      const logs = await ours.getLogs(filter);
      return logs.length >= 8 && held.every((told) => told.length === logs.length) ? true : undefined;
    };
    await until('all logs', isThere, 20_000);
    const logs = await ours.getLogs(filter);
    for (const end of ends) end();
    for (const told of held) {
      expect(told.map(({ type }) => type)).toEqual(logs.map(() => 'log'));
      expect(told.map(({ log }) => log.args.count)).toEqual(logs.map(({ args }) => args.count));
      expect(told.map(({ log }) => log.blockHash)).toEqual(logs.map(({ blockHash }) => blockHash));
    }
    expect(errors.length).toBeGreaterThan(0);
  });
});

describe('our own node', () => {
  it('offers all of it, and pages by cursor (B15)', async () => {
    const client = createPublicClient({ chain, transport: chainQueryHttp(dev.url) }).extend(
      chainQueryActions(),
    );
    expect((await client.getCapabilities()).lost).toEqual([]);
    const filter = { address: COUNTER.address, event, fromBlock: 0n } as const;
    const pages: (readonly { readonly args: { readonly count: bigint } }[])[] = [];
    for await (const logs of client.getLogPages(filter)) pages.push(logs);
    const counts = (await client.getLogs(filter)).map(({ args }) => args.count);
    const paged = pages.flat().map(({ args }) => args.count);
    expect(paged.slice(0, counts.length)).toEqual(counts.slice(0, paged.length));
    expect(paged.length).toBeGreaterThan(0);
  });

  it('gives the receipt of what is sent, pre-confirmed', async () => {
    const client = createPublicClient({ chain, transport: chainQueryHttp(dev.url) }).extend(
      chainQueryActions(),
    );
    const serializedTransaction = await account.signTransaction({
      ...{ chainId: chain.id, type: 'eip1559', to: COUNTER.address, data: COUNTER.increment, gas: 100_000n },
      ...{ maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n },
      nonce: await client.getTransactionCount({ address: account.address, blockTag: 'pending' }),
    });
    const receipt: TransactionReceipt = await client.sendSync({ serializedTransaction });
    expect(receipt.status).toBe('success');
    // The next read sees it, though nothing is confirmed yet.
    expect(await client.getTransactionReceipt({ hash: receipt.transactionHash })).toMatchObject({
      status: 'success',
    });
  });
});

describe('a node that is not ours', () => {
  it('is read all the same, and what is lost is said', async () => {
    const client = createPublicClient({ chain, transport: chainQueryHttp(dev.chainUrl) }).extend(
      chainQueryActions(),
    );
    const { lost, ...offered } = await client.getCapabilities();
    expect(Object.values(offered)).not.toContain(true);
    expect(lost.map(({ capability }) => capability)).toEqual(Object.keys(offered));
    expect(await client.getBlockNumber()).toBeGreaterThanOrEqual(0n);

    const request = await account.signTransaction({
      ...{ chainId: chain.id, type: 'eip1559', to: COUNTER.address, data: COUNTER.increment, gas: 100_000n },
      ...{ maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n },
      nonce: await client.getTransactionCount({ address: account.address, blockTag: 'pending' }),
    });
    const receipt: TransactionReceipt = await client.sendSync({ serializedTransaction: request });
    expect(receipt.status).toBe('success');

    const pages: (readonly { readonly args: { readonly count: bigint } }[])[] = [];
    for await (const page of getLogPages(client, { address: COUNTER.address, event, fromBlock: 0n }))
      pages.push(page);
    const logs = await client.getLogs({ address: COUNTER.address, event, fromBlock: 0n });
    expect(pages.flat().map(({ args }) => args.count)).toEqual(logs.map(({ args }) => args.count));
  });
});
