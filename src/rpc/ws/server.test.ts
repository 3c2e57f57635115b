import { expect, it } from 'vitest';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { startListener, TestClient } from '../../../test/support/serve/listener.ts';
import {
  addressOf,
  confirmed,
  flashblockEvent,
  type MadeBlock,
  makeBlock,
  removed,
} from '../../../test/support/serve/subscriptions.ts';

const ZERO = `0x${'0'.repeat(64)}`;

interface SentLog {
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly logIndex: string;
  readonly removed: boolean;
}
const short = (logs: readonly unknown[]): readonly string[] =>
  (logs as readonly SentLog[]).map(
    ({ blockNumber, logIndex, blockHash, removed: isGone }) =>
      `${isGone ? '-' : '+'}${Number(blockNumber)}/${Number(logIndex)}${blockHash === ZERO ? ' pre' : ''}`,
  );
const confirmedEvent = (...blocks: readonly MadeBlock[]) =>
  ({ kind: 'confirmed', removed: [], added: blocks.map((block) => confirmed(block)) }) as const;

it.each(['hybrid', 'node'] as const)(
  'serves all methods, batches and errors over the %s front',
  async (front) => {
    await using listener = await startListener(undefined, { front });
    using client = await TestClient.connect(listener.url);
    expect((await client.ask('eth_blockNumber')).result).toBe('0x4');
    expect((await client.ask('eth_getBlockReceipts', 'latest')).error?.code).toBe(-32004);
    expect((await client.ask('eth_nothing')).error?.code).toBe(-32601);
    client.socket.send('{');
    expect((await client.next(({ error }) => error?.code === -32700)).error).toBeDefined();
    client.socket.send(
      JSON.stringify([
        { jsonrpc: '2.0', id: 70, method: 'eth_chainId' },
        { jsonrpc: '2.0', method: 'eth_chainId' },
        { jsonrpc: '2.0', id: 71, method: 'eth_blockNumber' },
      ]),
    );
    await client.next(({ id }) => id === 71);
    expect(client.messages.at(-1)).toEqual([
      { jsonrpc: '2.0', id: 70, result: '0x1' },
      { jsonrpc: '2.0', id: 71, result: '0x4' },
    ]);
  },
);

it('streams logs and pendingLogs: equal blocks once, different ones taken back', async () => {
  await using listener = await startListener();
  using client = await TestClient.connect(listener.url);
  const { streams, head } = listener;
  const tip = head.snapshot().head;
  const pending = await client.subscribe('pendingLogs');
  const logs = await client.subscribe('logs');
  const filtered = await client.subscribe('pendingLogs', { address: addressOf(3) });

  const block = makeBlock(tip, [1, 3]);
  streams.publish(flashblockEvent(makeBlock(tip, [1]), 0, 1, 'a'));
  streams.publish(flashblockEvent(block, 1, 1, 'a'));
  streams.publish(confirmedEvent(block));
  await client.settle();
  expect(short(client.of(pending))).toEqual(['+5/0 pre', '+5/1 pre', '+5/2 pre', '+5/3 pre']);
  expect(short(client.of(logs))).toEqual(['+5/0', '+5/1', '+5/2', '+5/3']);
  expect(short(client.of(filtered))).toEqual(['+5/1 pre', '+5/2 pre', '+5/3 pre']);

  // Taken back as it was sent: without a hash here, with one there.
  const other = makeBlock(tip, [1], 'other');
  streams.publish({ kind: 'confirmed', removed: [removed(block)], added: [confirmed(other)] });
  await client.settle();
  expect(short(client.of(pending)).slice(4)).toEqual([
    '-5/3 pre',
    '-5/2 pre',
    '-5/1 pre',
    '-5/0 pre',
    '+5/0',
  ]);
  expect(short(client.of(logs)).slice(4)).toEqual(['-5/3', '-5/2', '-5/1', '-5/0', '+5/0']);
  const [sent] = client.of(pending) as readonly SentLog[];
  expect(client.of(pending)[7]).toEqual({ ...sent, removed: true });
  expect(sent).toMatchObject({
    blockNumber: '0x5',
    blockHash: ZERO,
    logIndex: '0x0',
    transactionIndex: '0x0',
  });
});

it('sends one log per message in the envelope that clients know', async () => {
  await using listener = await startListener();
  using client = await TestClient.connect(listener.url);
  const tip = listener.head.snapshot().head;
  const subscription = await client.subscribe('pendingLogs');
  expect(subscription).toMatch(/^0x[1-9a-f][0-9a-f]{31}$/);
  listener.streams.publish(flashblockEvent(makeBlock(tip, [2]), 0, 1, 'a'));
  await client.settle();
  const sent = client.messages.flat().filter(({ params }) => params !== undefined);
  expect(sent).toHaveLength(2);
  expect(sent[0]).toMatchObject({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription } });
});

it('refuses unknown kinds and wrong parameters', async () => {
  await using listener = await startListener();
  using client = await TestClient.connect(listener.url);
  const refused = async (...params: readonly unknown[]): Promise<string> => {
    const { error } = await client.ask('eth_subscribe', ...params);
    return `${error?.code} ${error?.message}`;
  };
  expect(await refused('newPendingBlocks')).toMatch(/^-32602 no "newPendingBlocks" subscription/);
  expect(await refused()).toMatch(/^-32602 missing value/);
  expect(await refused('logs', { address: '0x12' })).toMatch(/^-32602/);
  expect(await refused('logs', { blockHash: ZERO })).toMatch(/^-32602/);
  expect(await refused('logs', { toBlock: '0x1' })).toMatch(/^-32602/);
  expect(await refused('logs', { fromLogIndex: '0x1' })).toMatch(/^-32602/);
  expect(await refused('logs', { fromBlock: '0x100' })).toMatch(/^-32602 block range extends beyond/);
  expect(await refused('newHeads', {})).toMatch(/^-32602/);
  expect(await refused('newFlashblockTransactions', 1)).toMatch(/^-32602/);
  expect(await refused('newPendingTransactions', {})).toMatch(/^-32602/);
  expect(await refused('transactionReceipts', { transactionHashes: ['0x12'] })).toMatch(/^-32602/);
  expect(await refused('transactionReceipts', [ZERO])).toMatch(/^-32602/);
  expect(await refused('stateChanges')).toMatch(/^-32602/);
  expect(await refused('stateChanges', [])).toMatch(/^-32602/);
  expect((await client.ask('eth_unsubscribe', '0x77')).error?.message).toBe('subscription not found');
});

it('has no subscriptions over plain HTTP', async () => {
  await using listener = await startListener();
  const response = await fetch(listener.url.replace('ws', 'http'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['logs'] }),
  });
  expect(await response.json()).toMatchObject({
    error: { code: -32601, message: 'notifications not supported' },
  });
});

it('tells nothing after an unsubscription, and limits subscriptions', async () => {
  await using listener = await startListener(undefined, {
    // One client may have three of them, over all its connections.
    streams: { maxPerConnection: 2, maxSubscriptions: 6 },
  });
  using client = await TestClient.connect(listener.url);
  using other = await TestClient.connect(listener.url);
  const tip = listener.head.snapshot().head;
  const first = await client.subscribe('pendingLogs');
  await client.subscribe('pendingLogs');
  await expect(client.subscribe('pendingLogs')).rejects.toThrow(
    'too many subscriptions, at most 2 a connection',
  );
  await other.subscribe('logs');
  await expect(other.subscribe('logs')).rejects.toThrow('-32005');
  expect((await client.ask('eth_unsubscribe', first)).result).toBe(true);
  expect((await client.ask('eth_unsubscribe', first)).error?.code).toBe(-32000);
  listener.streams.publish(flashblockEvent(makeBlock(tip, [1]), 0, 1, 'a'));
  await client.settle();
  expect(client.of(first)).toEqual([]);
  await client.subscribe('pendingLogs');
});

it('gives the answer before any message, also within a batch', async () => {
  await using listener = await startListener();
  using client = await TestClient.connect(listener.url);
  const call = (id: number, method: string, ...params: readonly unknown[]) => ({
    jsonrpc: '2.0',
    id,
    method,
    params,
  });
  client.socket.send(
    JSON.stringify([
      call(90, 'eth_subscribe', 'logs', { fromBlock: '0x0' }),
      call(91, 'eth_subscribe', 'logs'),
      call(92, 'eth_chainId'),
    ]),
  );
  await client.next(({ params }) => params !== undefined);
  const [batch] = client.messages;
  expect(batch).toHaveLength(3);
});

it('closes a client that is too slow with 4008, and skips nothing before that', async () => {
  await using listener = await startListener(undefined, { websocket: { maxQueuedBytes: 50_000 } });
  using client = await TestClient.connect(listener.url);
  const { streams, head, registry } = listener;
  const tip = head.snapshot().head;
  const id = await client.subscribe('pendingLogs');
  client.socket.pause();
  const transactions: number[] = [];
  const isSubscribed = async (): Promise<boolean> =>
    (await registry.metrics()).includes('chain_query_subscriptions{kind="pendingLogs"} 1');
  for (let index = 0; await isSubscribed(); index++) {
    transactions.push(3, 7, 11, 15, 19, 23, 27, 31, 35, 39);
    streams.publish(flashblockEvent(makeBlock(tip, transactions), index, 10, 'a'));
    await new Promise(setImmediate);
  }
  client.socket.resume();
  const { code, reason } = await client.closed;
  expect(code).toBe(4008);
  expect(reason).toContain('too slow');
  const indexes = (client.of(id) as readonly SentLog[]).map(({ logIndex }) => Number(logIndex));
  expect(indexes.length).toBeGreaterThan(100);
  expect(indexes).toEqual(indexes.map((_, at) => at));
});

it('drains: answers what is under way, then closes with 1001', async () => {
  const { promise, resolve } = Promise.withResolvers<{ kind: 'success'; output: '0x01' }>();
  const listener = await startListener(undefined, { call: () => promise });
  using client = await TestClient.connect(listener.url);
  using idle = await TestClient.connect(listener.url);
  const answer = client.ask('eth_call', { to: addressOf(1) }, 'latest');
  await idle.settle();
  const closing = listener.server.close();
  expect((await idle.closed).code).toBe(1001);
  resolve({ kind: 'success', output: '0x01' });
  expect((await answer).result).toBe('0x01');
  expect((await client.closed).code).toBe(1001);
  await closing;
});

it('refuses messages over the body limit with 1009, and gives up silent clients', async () => {
  await using listener = await startListener(undefined, {
    maxBodyBytes: 2_000,
    websocket: { pingIntervalMs: 40, pongTimeoutMs: 20 },
  });
  using client = await TestClient.connect(listener.url);
  client.socket.send(`"${'x'.repeat(3_000)}"`);
  expect((await client.closed).code).toBe(1009);
  using answering = await TestClient.connect(listener.url);
  using silent = await TestClient.connect(listener.url);
  // Without reading, it neither sees a ping nor answers one.
  silent.socket.pause();
  while (!(await listener.registry.metrics()).includes('reason="silent"} 1')) await answering.settle();
  expect(answering.socket.readyState).toBe(answering.socket.OPEN);
});

it('bounds the requests of one connection that are worked on', async () => {
  let running = 0;
  let most = 0;
  await using listener = await startListener(undefined, {
    websocket: { maxConcurrent: 2 },
    call: async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      return { kind: 'success', output: '0x' };
    },
  });
  using client = await TestClient.connect(listener.url);
  const answers = Array.from({ length: 40 }, () => client.ask('eth_call', { to: addressOf(1) }, 'latest'));
  expect((await Promise.all(answers)).every(({ result }) => result === '0x')).toBe(true);
  expect(most).toBe(2);
});

it('closes every subscriber when the copy re-anchors', async () => {
  await using listener = await startListener();
  using client = await TestClient.connect(listener.url);
  using other = await TestClient.connect(listener.url);
  await client.subscribe('logs');
  listener.streams.publish({ kind: 'anchored' });
  expect((await client.closed).code).toBe(4009);
  await other.settle();
});

it('goes on from history without a gap', async () => {
  const chain = new FakeChain().add(0).add(1).add(2).add(3).add(4);
  await using listener = await startListener(chain);
  using client = await TestClient.connect(listener.url);
  const { streams, head } = listener;
  const tip = head.snapshot().head;
  streams.publish(flashblockEvent(makeBlock(tip, [2]), 0, 1, 'a'));
  const id = await client.subscribe('pendingLogs', { fromBlock: '0x3', fromLogIndex: '0x2' });
  await client.until(() => client.of(id).length === 7);
  streams.publish(flashblockEvent(makeBlock(tip, [2, 1]), 1, 1, 'a'));
  await client.settle();
  expect(short(client.of(id))).toEqual([
    ...['+3/2', '+4/0', '+4/1', '+4/2', '+4/3'],
    ...['+5/0 pre', '+5/1 pre', '+5/2 pre'],
  ]);
});
