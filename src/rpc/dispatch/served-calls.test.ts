import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { ask, dispatcherOf } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';

const call = (method: string, params: unknown = [], id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

describe('what was served', () => {
  it('is told by method, code and time since the request had arrived; a method that is not known has no name', async () => {
    const head = await new FakeChain().add(0).head(async () => {
      await nextTurn();
      return { kind: 'success', output: '0x' };
    });
    const onServed = vi.fn<(method: string, code: number | undefined, seconds: number) => void>();
    const dispatcher = dispatcherOf(head, {}, { onServed });
    const began = performance.now();
    await ask(dispatcher, call('eth_call', [{ to: `0x${'00'.repeat(20)}` }]));
    await ask(dispatcher, call('eth_chainId'));
    await ask(dispatcher, call('secret_name'));
    const most = (performance.now() - began) / 1_000;
    expect(onServed.mock.calls.map(([method, code]) => [method, code])).toEqual([
      ['eth_call', undefined],
      ['eth_chainId', undefined],
      ['unknown', -32601],
    ]);
    for (const [, , seconds] of onServed.mock.calls) {
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThan(most);
    }
  });
});
