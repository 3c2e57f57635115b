import { expect, it } from 'vitest';
import { openCqlStore } from '../../src/store/cql/index.ts';
import type { CqlStoreOptions } from '../../src/store/cql/options.ts';
import { readRoot } from '../../src/store/cql/root.ts';
import { Session } from '../../src/store/cql/session.ts';
import { until } from '../support/servers/process.ts';
import { address, createRandom, makeChain, randomContent } from '../support/store/contract-chain.ts';
import { describeChain, readAll } from '../support/store/contract-observe.ts';
import { useCassandra } from './place.ts';

const place = useCassandra('behind');

function options(more: Partial<CqlStoreOptions>): CqlStoreOptions {
  return { ...place(), viewMs: 60_000, ...more };
}
const onFailure = (error: unknown): never => {
  throw error;
};
const logs = [{ transactionIndex: 0, address: address(7), topics: [], data: new Uint8Array(1) }];

it('waits for the index while too much is left to it', async () => {
  const where = options({ maxTail: 130, indexLag: 0, undoWindow: 8 });
  await using stack = new AsyncDisposableStack();
  const session = await Session.connect(where);
  stack.defer(() => session.close());
  const store = await openCqlStore(where, { onFailure });
  stack.defer(() => store.close());
  const chain = makeChain(
    undefined,
    Array.from({ length: 600 }, () => ({ logs })),
  );
  for (let at = 0; at < chain.length; at += 50) {
    await store.append(chain.slice(at, at + 50));
    const indexed = (await readRoot(session, where.chain))?.root?.indexed ?? 0;
    expect(at + 49 - indexed).toBeLessThanOrEqual(130);
  }
  const found = await readAll(store.findLogs({ addresses: [address(7)], topics: [] }, 0, 599));
  expect(found).toHaveLength(600);
});

it('leaves rows that others may look for as long as it says, and then deletes them', async () => {
  const where = options({ indexLag: 0, undoWindow: 8, graceMs: 1_500, leaseMs: 800 });
  await using stack = new AsyncDisposableStack();
  const session = await Session.connect(where);
  stack.defer(() => session.close());
  const store = await openCqlStore(where, { onFailure });
  stack.defer(() => store.close());
  const random = createRandom(3);
  const chain = makeChain(
    undefined,
    Array.from({ length: 300 }, () => randomContent(random)),
  );
  await store.append(chain);
  await store.indexed();
  const rows = async (): Promise<number> => {
    const copy = BigInt((await readRoot(session, where.chain))?.root?.copy ?? '0');
    return (await session.rows('SELECT hash FROM bodies WHERE copy = ? AND number = ?', [copy, 10n])).length;
  };
  const held = await rows();
  expect(held).toBeGreaterThan(0);
  // Every step hides more, and none of them keeps the first from being deleted in time, or the index from going on.
  const began = performance.now();
  let below = 64;
  await store.prune(below, 1_000_000);
  expect(await rows()).toBe(held);
  await until('the rows to go', async () => {
    below += 1;
    await store.prune(Math.min(below, 280), 1_000_000);
    return (await rows()) === 0 || undefined;
  });
  expect(performance.now() - began).toBeGreaterThan(1_400);
  const before = await describeChain(store);
  while (await store.prune(below, 1_000_000));
  expect(await describeChain(store)).toEqual(before);
});
