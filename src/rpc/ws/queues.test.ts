import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { startListener, TestClient } from '../../../test/support/serve/listener.ts';

it('measures what clients have yet to take, all together and the most of one', async () => {
  await using listener = await startListener(undefined, {
    call: async () => ({ kind: 'success', output: BIG }),
  });
  const read = async (name: string): Promise<number> =>
    Number(
      new RegExp(`^chain_query_websocket_${name} (\\d+)$`, 'm').exec(await listener.registry.metrics())?.[1],
    );
  using greedy = await TestClient.connect(listener.url);
  using other = await TestClient.connect(listener.url);
  expect([await read('queued_bytes'), await read('largest_queue_bytes')]).toEqual([0, 0]);
  greedy.socket.pause();
  for (let id = 1; id <= 8; id++) {
    const params = [{ to: `0x${'00'.repeat(20)}` }];
    greedy.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_call', params }));
  }
  // What the kernel does not take any more waits here.
  await vi.waitFor(async () => expect(await read('queued_bytes')).toBeGreaterThan(BIG.length / 2), 5_000);
  expect((await other.ask('eth_chainId')).result).toBe('0x1');
  expect(await read('largest_queue_bytes')).toBe(await read('queued_bytes'));
  greedy.socket.terminate();
  await once(greedy.socket, 'close');
  await vi.waitFor(async () => expect(await read('queued_bytes')).toBe(0), 5_000);
});

const BIG = `0x${'00'.repeat(2 << 20)}` as const;
