import { Contract, type ContractEventPayload, WebSocketProvider } from 'ethers';
import {
  createPublicClient,
  createWalletClient,
  http,
  type Log,
  parseAbiItem,
  type RpcLog,
  webSocket,
  zeroHash,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { ACCOUNTS, CHAIN_ID, COUNTER } from '../../src/dev/client/genesis.ts';
import { opGethBinary } from '../support/servers/paths.ts';
import { type Running, until } from '../support/servers/process.ts';
import { startProgram } from '../support/servers/serving.ts';
import { abi, chain, listeners } from './dev-chain.ts';

const event = parseAbiItem('event Incremented(address indexed by, uint256 count)');
const counter = { address: COUNTER.address, abi } as const;

let node: Running;
let url: string;
let sending: string;

/** Sends transactions of the sample contract, one after the other. */
async function increment(times: number): Promise<void> {
  const account = privateKeyToAccount(ACCOUNTS[1].key);
  const wallet = createWalletClient({ account, chain, transport: http(sending) });
  const reader = createPublicClient({ chain, transport: http(url.replace('ws', 'http')) });
  for (let left = times; left > 0; left -= 1) {
    const nonce = await reader.getTransactionCount({ address: account.address, blockTag: 'pending' });
    await wallet.writeContract({ ...counter, functionName: 'increment', nonce });
    await until('the transaction to be pre-confirmed', async () =>
      (await reader.getTransactionCount({ address: account.address, blockTag: 'pending' })) > nonce
        ? true
        : undefined,
    );
  }
}

const isThere = (what: string, probe: () => boolean): Promise<true> =>
  until(what, () => (probe() ? true : undefined), 20_000);

beforeAll(async () => {
  node = startProgram(['dev', ...listeners, '--op-geth', opGethBinary()]);
  const died = node.exited.then((code) => {
    throw new Error(`dev ended with ${code}: ${node.output()}`);
  });
  died.catch(() => {});
  const ready = until('its guide', () => (node.output().includes('Ctrl-C') ? true : undefined));
  await Promise.race([ready, died]);
  const place = (pattern: RegExp): string => pattern.exec(node.output())?.[1] ?? '';
  url = place(/read +(http:\S+)/).replace('http', 'ws');
  sending = place(/send to +(http:\S+)/);
});
afterAll(() => node?.stop());

describe('viem over WebSocket (A10, B11)', () => {
  const connect = () => createPublicClient({ chain, transport: webSocket(url, { reconnect: false }) });
  let client: ReturnType<typeof connect>;

  beforeAll(() => {
    client = connect();
  });
  afterAll(async () => (await client.transport.getRpcClient()).close());

  it('reads, several at once', async () => {
    const [id, number, count, pending] = await Promise.all([
      client.getChainId(),
      client.getBlockNumber(),
      client.readContract({ ...counter, functionName: 'count' }),
      client.readContract({ ...counter, functionName: 'count', blockTag: 'pending' }),
    ]);
    expect(id).toBe(CHAIN_ID);
    expect(number).toBeGreaterThanOrEqual(0n);
    expect(pending).toBeGreaterThanOrEqual(count);
    await expect(
      client.getTransactionCount({ address: COUNTER.address, blockNumber: 10n ** 9n }),
    ).rejects.toThrow('block not found');
  });

  it('watches an event, and is told of each log once when it is confirmed', async () => {
    const watched: Log[] = [];
    const errors: unknown[] = [];
    const fromBlock = await client.getBlockNumber();
    const unwatch = client.watchEvent({
      ...{ address: COUNTER.address, event },
      onLogs: (logs) => watched.push(...logs),
      onError: (error) => errors.push(error),
    });
    // It subscribes before this is answered: requests of one connection begin in order.
    await client.getBlockNumber();
    await increment(4);
    await isThere('all logs', () => watched.length >= 4);
    expect(watched).toEqual(await client.getLogs({ address: COUNTER.address, event, fromBlock }));
    expect(errors).toEqual([]);
    unwatch();
  });

  it('is told of logs when they are pre-confirmed, which a read at that moment has', async () => {
    const held = new Map<string, RpcLog>();
    const reads: Promise<bigint>[] = [];
    const counts: bigint[] = [];
    const { unsubscribe } = await client.transport.subscribe({
      // viem's types know the standard kinds only.
      params: ['pendingLogs', { address: COUNTER.address, fromBlock: 'earliest' }] as never,
      onData: ({ result }) => {
        const log = result as RpcLog;
        const key = `${log.blockNumber}/${log.logIndex}`;
        if (log.removed) held.delete(key);
        else held.set(key, log);
        if (log.blockHash !== zeroHash || log.removed) return;
        counts.push(BigInt(log.data));
        reads.push(client.readContract({ ...counter, functionName: 'count', blockTag: 'pending' }));
      },
    });
    await increment(4);
    await isThere('all logs', () => counts.length >= 4);
    for (const [at, count] of (await Promise.all(reads)).entries())
      expect(count).toBeGreaterThanOrEqual(counts[at] ?? 0n);
    const logs = await client.getLogs({
      address: COUNTER.address,
      fromBlock: 'earliest',
      toBlock: 'pending',
    });
    const place = (log: { readonly transactionHash: unknown; readonly data: unknown }): unknown[] => [
      log.transactionHash,
      log.data,
    ];
    expect([...held.values()].map(place)).toEqual(logs.map(place));
    await unsubscribe();
  });

  it('is told of new heads', async () => {
    const numbers: bigint[] = [];
    const headers: { readonly number: string; readonly parentHash: string; readonly hash: string }[] = [];
    const unwatch = client.watchBlockNumber({ onBlockNumber: (number) => numbers.push(number) });
    const { unsubscribe } = await client.transport.subscribe({
      params: ['newHeads'],
      onData: ({ result }) => headers.push(result),
    });
    await isThere('three heads', () => headers.length >= 3 && numbers.length >= 3);
    for (const [at, header] of headers.entries())
      if (at > 0) expect(header.parentHash).toBe(headers[at - 1]?.hash);
    expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0n) + BigInt(at)));
    unwatch();
    await unsubscribe();
  });
});

it('answers a batch over WebSocket, and refuses what it does not know', async () => {
  const socket = new WebSocket(url);
  const answers: unknown[] = [];
  socket.on('message', (data: Buffer) => answers.push(JSON.parse(data.toString('utf8'))));
  await new Promise((resolve) => socket.once('open', resolve));
  const batch = ['eth_chainId', 'eth_blockNumber', 'eth_nothing'].map((method, id) => ({
    ...{ jsonrpc: '2.0', id, method },
  }));
  socket.send(JSON.stringify(batch));
  await isThere('an answer', () => answers.length > 0);
  expect(answers).toEqual([
    [
      { jsonrpc: '2.0', id: 0, result: `0x${CHAIN_ID.toString(16)}` },
      { jsonrpc: '2.0', id: 1, result: expect.stringMatching(/^0x/) },
      { jsonrpc: '2.0', id: 2, error: expect.objectContaining({ code: -32601 }) },
    ],
  ]);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.close();
  await closed;
});

describe('ethers over WebSocket', () => {
  let provider: WebSocketProvider;

  beforeAll(() => {
    provider = new WebSocketProvider(url);
  });
  afterAll(() => provider?.destroy());

  it('detects the network, and calls', async () => {
    expect((await provider.getNetwork()).chainId).toBe(BigInt(CHAIN_ID));
    const contract = new Contract(COUNTER.address, ['function count() view returns (uint256)'], provider);
    const [count, nonce] = await Promise.all([
      contract.getFunction('count')() as Promise<bigint>,
      provider.getTransactionCount(ACCOUNTS[1].address, 'pending'),
    ]);
    expect(count).toBeGreaterThanOrEqual(0n);
    expect(nonce).toBeGreaterThanOrEqual(0);
  });

  it('hears of blocks and events', async () => {
    const blocks: number[] = [];
    const logs: string[] = [];
    const events: bigint[] = [];
    await provider.on('block', (number: number) => blocks.push(number));
    const topic = '0x38ac789ed44572701765277c4d0970f2db1c1a571ed39e84358095ae4eaa5420';
    const filter = { address: COUNTER.address, topics: [topic] };
    await provider.on(filter, (log: { readonly transactionHash: string }) => logs.push(log.transactionHash));
    const contract = new Contract(
      COUNTER.address,
      ['event Incremented(address indexed by, uint256 count)'],
      provider,
    );
    await contract.on('Incremented', (_by: string, count: bigint, _payload: ContractEventPayload) =>
      events.push(count),
    );
    const from = await provider.getBlockNumber();
    await increment(3);
    await isThere(
      'blocks, logs and events',
      () => blocks.length >= 2 && logs.length >= 3 && events.length >= 3,
    );
    const found = await provider.getLogs({ ...filter, fromBlock: from });
    expect(logs).toEqual(found.map(({ transactionHash }) => transactionHash));
    expect(events).toEqual(found.map(({ data }) => BigInt(data)));
    expect(blocks).toEqual(blocks.map((_, at) => (blocks[0] ?? 0) + at));
    await provider.removeAllListeners();
    await contract.removeAllListeners();
    // What it has sent to end its subscriptions is answered before this.
    await provider.getBlockNumber();
  });
});
