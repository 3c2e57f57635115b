import { expect, it } from 'vitest';
import { makeChain, refOf } from '../../test/support/store/contract-chain.ts';
import type { BlockRef, Outcome } from '../chain/outcome.ts';
import { SourceError } from '../source/errors.ts';
import type { Finality, ReadOptions } from '../source/interface.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import { markFinality } from './finality.ts';

const { signal } = new AbortController();
const chain = makeChain(
  undefined,
  Array.from({ length: 12 }, () => ({})),
);
const other = makeChain(
  undefined,
  Array.from({ length: 12 }, () => ({ salt: 'other' })),
);
const ref = (number: number, of: readonly Outcome[] = chain): BlockRef => refOf(of[number] as Outcome);

async function world() {
  const store = createMemoryStore();
  await store.append(chain.slice(0, 11));
  const said = new Map<string, Finality>();
  let published = 0;
  const modules = {
    store,
    source: {
      finality: async ({ only = '' }: ReadOptions = {}) => {
        const value = said.get(only);
        if (value === undefined) throw new SourceError({ code: 'unreachable', upstream: only }, 'away');
        return { value, upstream: only };
      },
    },
    publish: async () => void published++,
  };
  /** What is marked once this upstream was asked. */
  const ask = async (leader: string) => {
    await markFinality(modules, leader, signal);
    const { safe, finalized } = (await store.marks()) ?? {};
    return [safe?.number, finalized?.number];
  };
  const say = (upstream: string, safe: BlockRef | undefined, finalized: BlockRef | undefined) =>
    said.set(upstream, { safe, finalized });
  return { store, ask, say, published: () => published };
}

it('takes the word of the leader, and of nobody else', async () => {
  const { ask, say } = await world();
  say('a', ref(5), ref(3));
  say('b', ref(10), ref(9));
  expect(await ask('a')).toEqual([5, 3]);
  expect(await ask('c')).toEqual([5, 3]);
});

it('never goes back, whoever leads', async () => {
  const { ask, say, published } = await world();
  say('a', ref(8), ref(6));
  expect(await ask('a')).toEqual([8, 6]);
  say('b', ref(5), ref(2));
  expect(await ask('b')).toEqual([8, 6]);
  say('b', ref(7), ref(7));
  expect(await ask('b')).toEqual([8, 7]);
  expect(published()).toBe(2);
});

it('takes nothing that is not on our chain, or above it', async () => {
  const { ask, say, published } = await world();
  say('a', ref(4, other), ref(3, other));
  expect(await ask('a')).toEqual([undefined, undefined]);
  say('a', ref(11), undefined);
  expect(await ask('a')).toEqual([undefined, undefined]);
  say('a', ref(11), ref(10));
  expect(await ask('a')).toEqual([10, 10]);
  expect(published()).toBe(1);
});
