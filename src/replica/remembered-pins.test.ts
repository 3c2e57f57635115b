import { expect, it } from 'vitest';
import { address, makeChain, refOf, word } from '../../test/support/store/contract-chain.ts';
import type { Outcome } from '../chain/outcome.ts';
import type { StateKey } from '../chain/state-key.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import { RememberedPins } from './remembered-pins.ts';

const key: StateKey = { kind: 'slot', address: address(3), slot: word(1) };

it('gives what was read elsewhere until the anchor is another, and what blocks wrote before it', async () => {
  const store = createMemoryStore({ undoWindow: 8 });
  const [first, second] = makeChain(undefined, [{}, {}]) as [Outcome, Outcome];
  await store.append([first, second], { partial: true });
  const pins = new RememberedPins(store, 10_000);
  expect(await pins.loadState([key], 1)).toEqual([undefined]);
  await pins.pin(refOf(first), [{ key, value: word(7) }]);
  await pins.pin(refOf(first), [{ key, value: word(8) }]);
  expect(await pins.loadState([key], 1)).toEqual([word(7)]);
  await expect(pins.pin(refOf(second), [{ key, value: word(9) }])).rejects.toMatchObject({
    code: 'conflict',
  });

  await store.append(makeChain(second, [{}]), { partial: true, reanchor: true });
  expect(await pins.loadState([key], 2)).toEqual([undefined]);
});

it('holds no more than it may', async () => {
  const store = createMemoryStore({ undoWindow: 8 });
  const chain = makeChain(undefined, [{}]);
  await store.append(chain, { partial: true });
  const pins = new RememberedPins(store, 1_000);
  const keys = Array.from({ length: 20 }, (_, at): StateKey => ({ ...key, slot: word(at) }));
  await pins.pin(
    refOf(chain[0] as Outcome),
    keys.map((each) => ({ key: each, value: word(1) })),
  );
  const known = (await pins.loadState(keys, 0)).filter((value) => value !== undefined);
  expect(known).toHaveLength(6);
});
