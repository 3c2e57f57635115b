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

it('asks again for an account whose code it has forgotten', async () => {
  const store = createMemoryStore({ undoWindow: 8 });
  const chain = makeChain(undefined, [{}]);
  await store.append(chain, { partial: true });
  const pins = new RememberedPins(store, 1_000);
  const account: StateKey = { kind: 'account', address: address(3) };
  const code: StateKey = { kind: 'code', hash: word(5) };
  // RLP of [1, 1, hash].
  const stored = Uint8Array.from([0xe3, 1, 1, 0xa0, ...word(5)]);
  const both = [
    { key: account, value: stored },
    { key: code, value: new Uint8Array(300) },
  ];
  const anchor = refOf(chain[0] as Outcome);
  const other = (at: number) => ({ key: { ...key, slot: word(at) }, value: new Uint8Array(200) });
  await pins.pin(anchor, both);
  expect(await pins.loadState([account], 0)).toEqual([stored]);
  // Less recently used than its account, unless looking for that is looking for both.
  await pins.pin(anchor, [other(1)]);
  expect(await pins.loadState([account, code], 0)).toEqual([stored, new Uint8Array(300)]);
  await pins.pin(anchor, [other(2), other(3)]);
  expect(await pins.loadState([account, code], 0)).toEqual([undefined, undefined]);
  await pins.pin(anchor, both);
  expect(await pins.loadState([account, code], 0)).toEqual([stored, new Uint8Array(300)]);
});
