// What a client was not told of does not happen: a refused message opens and ends no subscription.
import { expect, it } from 'vitest';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { startListener, TestClient, type TestListener } from '../../../test/support/serve/listener.ts';
import { addressOf } from '../../../test/support/serve/subscriptions.ts';

const call = (id: number, method: string, ...params: readonly unknown[]) => ({
  ...{ jsonrpc: '2.0', id, method, params },
});
const ETH_CALL = ['eth_call', { to: addressOf(1) }, 'latest'] as const;

async function openOf({ registry }: TestListener): Promise<number> {
  const text = await registry.metrics();
  const counts = [...text.matchAll(/^chain_query_subscriptions\{[^}]*\} (\d+)$/gm)].map(([, n]) => Number(n));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function send(client: TestClient, ...calls: readonly ReturnType<typeof call>[]) {
  const last = calls.at(-1)?.id;
  const answered = client.next(({ id }) => id === last);
  client.socket.send(JSON.stringify(calls));
  await answered;
  return client.messages.at(-1) as readonly {
    readonly result?: unknown;
    readonly error?: { code: number };
  }[];
}

it('when its chain is reorganised at every run', async () => {
  const chain = new FakeChain().add(1).add(1).add(1);
  let isMoving = true;
  await using listener: TestListener = await startListener(chain, {
    call: async () => {
      await new Promise(setImmediate);
      if (isMoving) {
        chain.truncate(1);
        chain.add(1, Math.random()).add(1, Math.random());
        await listener.head.refresh();
      }
      return { kind: 'success', output: '0x' };
    },
  });
  using client = await TestClient.connect(listener.url);
  const before = await client.subscribe('newHeads');
  const batch = [
    call(50, 'eth_subscribe', 'logs'),
    call(51, 'eth_unsubscribe', before),
    call(52, ...ETH_CALL),
  ];
  const refused = await send(client, ...batch);
  expect(refused.map(({ error }) => error?.code)).toEqual([-32002, -32002, -32002]);
  expect(await openOf(listener)).toBe(1);
  isMoving = false;
  const answered = await send(client, ...batch);
  expect(answered).toMatchObject([{ result: expect.any(String) }, { result: true }, { result: '0x' }]);
  expect(await openOf(listener)).toBe(1);
  expect((await client.ask('eth_unsubscribe', answered[0]?.result)).result).toBe(true);
});

it('when its entry does not fit into the response', async () => {
  await using listener = await startListener(undefined, {
    maxResponseBytes: 2_000,
    call: () => ({ kind: 'success', output: `0x${'00'.repeat(970)}` }),
  });
  using client = await TestClient.connect(listener.url);
  const before = await client.subscribe('newHeads');
  // As many as are worked on at the same time do not fit: what comes after them is not begun.
  const entries = await send(
    client,
    ...Array.from({ length: 8 }, (_, at) => call(50 + at, ...ETH_CALL)),
    call(58, 'eth_subscribe', 'logs'),
    call(59, 'eth_unsubscribe', before),
  );
  expect(new Set(entries.map(({ error }) => error?.code))).toEqual(new Set([-32003]));
  expect(await openOf(listener)).toBe(1);
  expect((await client.ask('eth_unsubscribe', before)).result).toBe(true);
});

it('when it is too large', async () => {
  await using listener = await startListener();
  using client = await TestClient.connect(listener.url);
  const many = Array.from({ length: 101 }, (_, id) => call(id, 'eth_subscribe', 'logs'));
  const refused = client.next(({ error }) => error?.code === -32600);
  client.socket.send(JSON.stringify(many));
  await refused;
  expect(await openOf(listener)).toBe(0);
});
