import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Outcome } from '../../src/chain/outcome.ts';
import { openCqlStore } from '../../src/store/cql/index.ts';
import { openCqlReplica } from '../../src/store/cql/replica.ts';
import { createRandom, makeChain, randomContent } from '../support/store/contract-chain.ts';
import { describeChain } from '../support/store/contract-observe.ts';
import { useCassandra } from './place.ts';

const place = useCassandra('replica');

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

function options() {
  // Longer than the test: what is taken off stays readable, as it would for those who do not know yet.
  return { ...place(), undoWindow: 150, indexLag: 2, graceMs: 600_000, viewMs: 300_000 };
}
const onFailure = (error: unknown): never => {
  throw error;
};

it(`tells exactly which blocks were taken off and put on, however much it missed (seed ${seed})`, async () => {
  const random = createRandom(seed);
  const where = options();
  await using stack = new AsyncDisposableStack();
  const store = await openCqlStore(where, { onFailure });
  stack.defer(() => store.close());
  const replica = await openCqlReplica(where);
  stack.defer(() => replica.close());
  const thread = await openCqlReplica(where);
  stack.defer(() => thread.close());
  expect(await replica.sync()).toEqual({ removed: [], added: [], isAnew: false });
  expect(replica.marks()).toBeUndefined();

  const contents = (length: number) => Array.from({ length }, () => randomContent(random));
  let chain: Outcome[] = [];
  const seen: string[] = [];
  const look = async (): Promise<void> => {
    // The feed tells of some blocks, and of some that come to nothing.
    for (const block of chain.slice(-20)) if (random(2) === 0) replica.offer(block);
    replica.offer(makeChain(chain.at(-2), contents(1))[0] as Outcome);
    const { removed, added, isAnew } = await replica.sync();
    expect(isAnew).toBe(seen.length === 0);
    // Who begins hears of the blocks that are not indexed; the others are in the store.
    if (isAnew) seen.push(...chain.slice(0, chain.length - added.length).map(({ hash }) => hash));
    for (const { hash } of removed) expect(seen.pop()).toBe(hash);
    for (const { hash } of added) seen.push(hash);
    expect(seen).toEqual(chain.map(({ hash }) => hash));
    expect(replica.marks()).toEqual(store.marks());
    await thread.seek(replica.position() as string);
    expect(thread.marks()).toEqual(store.marks());
  };
  for (let step = 0; step < 40; step++) {
    const most = chain.length - 1 - (store.undoFloor() ?? 0);
    const depth = random(3) === 0 ? Math.max(0, Math.min(random(140), most)) : 0;
    const onto = chain.length - 1 - depth;
    const fork = makeChain(chain[onto], contents(1 + random(random(4) === 0 ? 90 : 6)));
    await store.append(fork, depth > 0 ? { onto } : {});
    chain = [...chain.slice(0, onto + 1), ...fork];
    if (random(3) === 0) await store.indexed();
    if (random(2) === 0) await look();
  }
  await look();
  await store.indexed();
  await look();
  const whole = await describeChain(store);
  expect(await describeChain(asStore(replica))).toEqual(whole);
  expect(await describeChain(asStore(thread))).toEqual(whole);

  // Another copy: nothing of the first is left.
  const other = makeChain(undefined, contents(5));
  await store.append(other, { reanchor: true });
  expect(await replica.sync()).toMatchObject({ removed: [], isAnew: true });
  expect(await describeChain(asStore(replica))).toEqual(await describeChain(store));
}, 240_000);

it('answers nothing once it has not looked for too long', async () => {
  const where = { ...options(), viewMs: 1_500 };
  await using stack = new AsyncDisposableStack();
  const store = await openCqlStore({ ...where, leaseMs: 200 }, { onFailure });
  stack.defer(() => store.close());
  await store.append(makeChain(undefined, [{}, {}]));
  const replica = await openCqlReplica(where);
  stack.defer(() => replica.close());
  await replica.sync();
  expect(replica.marks()?.head.number).toBe(1);
  await delay(1_600);
  await expect(async () => replica.loadState([], 1)).rejects.toMatchObject({ code: 'unavailable' });
  await replica.sync();
  expect(await replica.loadState([], 1)).toEqual([]);
});

/** What is looked at of a store is what a replica has. */
function asStore(replica: Awaited<ReturnType<typeof openCqlReplica>>): Parameters<typeof describeChain>[0] {
  return replica as unknown as Parameters<typeof describeChain>[0];
}
