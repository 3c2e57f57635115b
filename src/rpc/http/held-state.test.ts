import { expect, it } from 'vitest';
import { ask, dispatcherOf } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';

const TO = `0x${'11'.repeat(20)}`;
const call = (method: string, params: unknown, id: number): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

it('a request reads the same pre-confirmed state to its end, and gives it back then', async () => {
  const chain = new FakeChain().add(0).add(1);
  const gate = Promise.withResolvers<void>();
  const head = await chain.head(async () => {
    await gate.promise;
    return { kind: 'success', output: '0x' };
  });
  const holders = (): readonly number[] => [...chain.versions.values()].map((view) => view.holders);
  await head.apply(chain.flashblock({ number: 2, index: 0 }));
  const waiting = Array.from({ length: 8 }, (_, id) => call('eth_call', [{ to: TO }, 'latest'], id));
  const batch = `[${[...waiting, call('eth_getTransactionCount', [TO, 'pending'], 8)].join()}]`;
  const answer = ask(dispatcherOf(head), batch);
  await head.apply(chain.flashblock({ number: 2, index: 1, first: 1 }));
  expect(holders()).toEqual([1, 1]);
  gate.resolve();
  // Of the first flashblock, although the second has come.
  expect(JSON.parse((await answer).text)).toContainEqual({ jsonrpc: '2.0', id: 8, result: '0x1' });
  expect(holders()).toEqual([0, 1]);
});
