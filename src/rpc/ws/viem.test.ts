import { createPublicClient, type Log, webSocket } from 'viem';
import { expect, it, vi } from 'vitest';
import { startListener } from '../../../test/support/serve/listener.ts';
import { confirmed, flashblockEvent, makeBlock } from '../../../test/support/serve/subscriptions.ts';

/** Longer than a machine with other things to do takes. */
const WAIT = { timeout: 10_000 };

it('serves viem: reads, watchEvent, and a subscription of ours that resumes', async () => {
  await using listener = await startListener();
  const client = createPublicClient({ transport: webSocket(listener.url, { reconnect: false }) });
  const { streams, head } = listener;
  const tip = head.snapshot().head;
  expect(await client.getBlockNumber()).toBe(4n);

  const watched: Log[] = [];
  const unwatch = client.watchEvent({ onLogs: (logs) => watched.push(...logs) });
  const held = new Map<string, { readonly removed: boolean }>();
  const { unsubscribe } = await client.transport.subscribe({
    // viem's types know the standard kinds only.
    params: ['pendingLogs', { fromBlock: '0x4' }] as never,
    onData: ({ result: log }) => {
      const key = `${Number(log.blockNumber)}/${Number(log.logIndex)}`;
      if (log.removed === true) held.delete(key);
      else held.set(key, log);
    },
  });
  await vi.waitFor(() => expect([...held.keys()]).toEqual(['4/0', '4/1', '4/2', '4/3']), WAIT);
  await vi.waitFor(async () => {
    expect(await listener.registry.metrics()).toContain('chain_query_subscriptions{kind="logs"} 1');
  }, WAIT);

  streams.publish(flashblockEvent(makeBlock(tip, [3]), 0, 1, 'a'));
  // Now it has read history and hears of events; this head has none of the blocks that it is told of.
  await vi.waitFor(() => expect(held.size).toBeGreaterThan(4), WAIT);
  const block = makeBlock(tip, [1]);
  streams.publish({ kind: 'confirmed', removed: [], added: [confirmed(block)] });
  await vi.waitFor(() => expect([...held.keys()]).toEqual(['4/0', '4/1', '4/2', '4/3', '5/0']), WAIT);
  await vi.waitFor(() => expect(watched.map(({ blockHash }) => blockHash)).toEqual([block.hash]), WAIT);

  await unsubscribe();
  unwatch();
  const socket = await client.transport.getRpcClient();
  socket.close();
}, 60_000);
