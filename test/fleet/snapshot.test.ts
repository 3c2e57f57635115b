import { expect, it, vi } from 'vitest';
import { openSharedSource, openSharedTarget } from '../../src/maintenance/snapshot/open-shared.ts';
import { openCqlStore } from '../../src/store/cql/index.ts';
import type { Pin, Store } from '../../src/store/interface.ts';
import { openLmdbStore } from '../../src/store/lmdb/index.ts';
import { createMemoryStore } from '../../src/store/memory/index.ts';
import { isBeingRestored, RESTORING_META } from '../../src/store/restoring.ts';
import { answersOf, exportMade, Parents, restoreMade, snapshotDir } from '../support/snapshot/made-chain.ts';
import {
  address,
  createRandom,
  makeChain,
  randomContent,
  refOf,
  word,
} from '../support/store/contract-chain.ts';
import { useCassandra } from './place.ts';

const place = useCassandra('snapshot');
const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const onFailure = (error: unknown): never => {
  throw error;
};

it.each([
  ['complete', false],
  ['partial', true],
])(`moves a copy that is %s from LMDB to CQL and back (seed ${seed})`, async (_, partial) => {
  const random = createRandom(seed);
  await using stack = new AsyncDisposableStack();
  const folder = async (): Promise<string> => stack.use(await snapshotDir()).path;
  const lmdb = async (): Promise<Store> => {
    const path = await folder();
    const store = await openLmdbStore({ path, undoWindow: 8, mapSizeBytes: 2 ** 30, unsafeNoSync: true });
    stack.defer(() => store.close());
    return store;
  };
  const chain = makeChain(
    undefined,
    Array.from({ length: 60 }, () => randomContent(random)),
  );
  const parents = new Parents();
  parents.add(chain);
  const pins: Pin[] = Array.from({ length: 8 }, () => ({
    key: { kind: 'slot', address: address(random(6)), slot: word(random(5)) },
    value: random(2) === 0 ? word(1 + random(100)) : new Uint8Array(0),
  }));
  const first = await lmdb();
  await first.setMeta('genesis', '{}');
  await first.append(chain.slice(20, 21), { partial });
  await first.append(chain.slice(21), { pins });
  await first.prepend(chain.slice(8, 20));
  await first.mark({ finalized: refOf(chain[55] as (typeof chain)[number]) });
  const expected = await answersOf(first);

  const [out, back] = [await folder(), await folder()];
  await exportMade(first, out, parents);
  const cql = await openCqlStore({ ...place(), undoWindow: 8, indexLag: 4, graceMs: 0 }, { onFailure });
  stack.defer(() => cql.close());
  await restoreMade(out, cql);
  await cql.indexed();
  expect(await answersOf(cql)).toEqual(expected);
  // What is known is the same, whatever order a store gives it in.
  await exportMade(cql, back, parents);
  for (const store of [await lmdb(), createMemoryStore()]) {
    await restoreMade(back, store);
    expect(await answersOf(store)).toEqual(expected);
  }
});

it('fills a store that is empty or its own, and that nobody writes; others see that it is not whole', async () => {
  const options = { ...place(), undoWindow: 8, leaseMs: 300, graceMs: 10_000, viewMs: 5_000 };
  const { signal } = new AbortController();
  const [own, foreign] = [() => Promise.resolve(true), () => Promise.resolve(false)];
  const target = await openSharedTarget(options, own, signal);
  await target.store.setMeta(RESTORING_META, 'a seal');
  await target.store.append(makeChain(undefined, [{}, {}]), { partial: true });
  await expect(openSharedTarget(options, own, signal)).rejects.toThrow('another process writes');
  await target.leave();
  await expect(openSharedTarget(options, foreign, signal)).rejects.toThrow('holds a chain');
  const source = await openSharedSource(options);
  try {
    expect(await isBeingRestored(source.store)).toBe(true);
    const again = await openSharedTarget(options, own, signal);
    const head = (await again.store.marks())?.head.number;
    expect(head).toBe(1);
    await again.store.setMeta(RESTORING_META, '');
    await again.store.revertTo(0);
    await again.complete();
    // It goes on looking.
    await vi.waitFor(async () => expect((await source.store.marks())?.head.number).toBe(0), 5_000);
    expect(await isBeingRestored(source.store)).toBe(false);
  } finally {
    await source.close();
  }
});
