import { expect, it } from 'vitest';
import { address, makeChain, word } from '../../../test/support/store/contract-chain.ts';
import type { Outcome } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { createMemoryStore } from '../../store/memory/index.ts';
import { BlockReads } from './block-reads.ts';
import { PinnedState } from './pinned-state.ts';

const chain = makeChain(
  undefined,
  Array.from({ length: 9 }, () => ({})),
);
const at = (number: number): Outcome => chain[number] as Outcome;
const account = (value: number): StateKey => ({ kind: 'account', address: address(value) });
const reanchored = { reanchor: true, partial: true };

/** A copy that begins at block 3; every account is worth the number of the block that it is read at. */
async function begin() {
  const store = createMemoryStore();
  await store.append([at(3)], { partial: true });
  const state = new PinnedState(
    { maxPins: 100, pinDelayMs: 60_000, archiveCodeBytes: 1_024 },
    {
      store,
      read: async (keys, block) => keys.map(() => ({ value: word(block.number), upstream: 'one' })),
      onFault: (error) => {
        throw error;
      },
    },
  );
  return { store, state };
}

it('writes nothing that was read for a copy to the one that takes its place', async () => {
  const { store, state } = await begin();
  await state.load([account(1)], 3, at(3));
  await state.replace(async () => {
    await store.append([at(7)], reanchored);
    // As a timer may have it, or a node that ends.
    await state.flush();
  });
  await state.flush();
  expect(await store.loadState([account(1)], 7)).toEqual([undefined]);
  expect(await state.load([account(1)], 7, at(7))).toEqual([word(7)]);
});

it('trusts nothing of a block that was begun on the copy before', async () => {
  const { store, state } = await begin();
  const reads = new BlockReads(undefined);
  await state.loadFor(reads, [account(1)], 3);
  await state.replace(() => store.append([at(7)], reanchored));
  await expect(state.loadFor(reads, [account(2)], 7)).rejects.toThrow('re-anchored');
  state.accept(reads);
  await state.flush();
  expect(await store.loadState([account(1)], 7)).toEqual([undefined]);
});

it('gives no block of a copy what one of the copy before had asked for', async () => {
  const { store, state } = await begin();
  const reads = new BlockReads(undefined);
  await state.loadFor(reads, [account(1)], 3);
  // Under way while the copy is replaced: it hears of it only when it is done.
  const late = state.loadFor(reads, [account(2)], 3);
  await state.replace(() => store.append([at(7)], reanchored));
  await late.catch(() => undefined);
  const [next] = makeChain(at(7), [{ diff: { accounts: [[address(1), word(9)]] } }]);
  expect(state.dueWith([next as Outcome])).toEqual([]);
});

it('keeps what it has read when the copy stays as it is', async () => {
  const { store, state } = await begin();
  await state.load([account(1)], 3, at(3));
  const refused = state.replace(() => Promise.reject(new Error('the disk is full')));
  await expect(refused).rejects.toThrow('the disk is full');
  await state.flush();
  expect(await store.loadState([account(1)], 3)).toEqual([word(3)]);
});
