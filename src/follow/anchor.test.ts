import { expect, it } from 'vitest';
import { FollowWorld } from '../../test/support/follow/world.ts';
import { refOf } from '../../test/support/store/contract-chain.ts';
import type { Outcome } from '../chain/outcome.ts';
import { type AnchorChoice, Anchoring } from './anchor.ts';

const { signal } = new AbortController();
const retry = { firstMs: 1, maxMs: 1 };

/** Two upstreams, of which the second is five blocks ahead on the same chain. */
function begin(anchor: AnchorChoice = 'latest') {
  const world = new FollowWorld(2);
  const [a, b] = world.upstreams;
  if (a === undefined || b === undefined) throw new Error('no upstreams');
  a.tip = world.grow(a.tip, 10);
  b.tip = world.grow(a.tip, 5);
  const anchoring = new Anchoring({ anchor, hotWindow: 16, retry }, world.modules());
  const head = async () => (await world.store.marks())?.head;
  const main = b.tip;
  const at = (number: number): Outcome => world.at(main, number) ?? main;
  return { world, a, b, anchoring, head, at, main };
}

it('begins where the furthest upstream is', async () => {
  const { world, b, anchoring, head } = begin();
  await anchoring.begin(signal);
  expect(await head()).toEqual(refOf(b.tip));
  expect(world.events).toMatchObject([
    { kind: 'anchored', reason: 'the store was empty' },
    { kind: 'moved' },
  ]);
});

it('begins elsewhere when that one does not give what it named', async () => {
  const { world, a, b, anchoring, head } = begin();
  for (const upstream of world.upstreams) upstream.withheld.add(b.tip.hash);
  await anchoring.begin(signal);
  expect(await head()).toEqual(refOf(a.tip));
});

it('begins at the block of that number on the furthest upstream’s chain', async () => {
  const { world, b, anchoring, head } = begin(7);
  b.tip = world.grow(world.at(b.tip, 5) ?? b.tip, 20, 'fork');
  await anchoring.begin(signal);
  expect(await head()).toEqual(refOf(world.at(b.tip, 7) ?? b.tip));
});

it('goes on where the store ends', async () => {
  const { world, anchoring, at } = begin();
  await world.store.append([at(3), at(4)], { partial: true });
  await anchoring.begin(signal);
  expect(world.calls).toEqual(['restore']);
});

it('re-anchors on the chain that it is on, and on no other where it must go on', async () => {
  const { world, b, anchoring, head, at, main } = begin(3);
  await world.store.append([at(3), at(4)], { partial: true });
  b.tip = world.grow(at(3), 30, 'fork');
  const from = { upstream: 'b', mustContinue: true };
  await expect(anchoring.reanchor('because', from, signal)).rejects.toThrow(
    'block 4 is not on the chain of b',
  );
  expect(await head()).toEqual(refOf(at(4)));
  b.tip = main;
  expect(await anchoring.reanchor('because', from, signal)).toBe(true);
  // Where it was told to begin the first time has been of no use.
  expect(await head()).toEqual(refOf(main));
  b.tip = world.grow(at(3), 30, 'fork');
  expect(await anchoring.reanchor('because', { ...from, mustContinue: false }, signal)).toBe(true);
  expect(await head()).toEqual(refOf(b.tip));
});

it('does not leave what is final, or history that was backfilled', async () => {
  const { world, b, anchoring, head, at, main } = begin();
  await world.store.append([at(3), at(4), at(5)], { partial: true });
  await world.store.mark({ finalized: refOf(at(4)) });
  const from = { upstream: 'b', mustContinue: false };
  for (const tip of [world.grow(at(3), 30, 'fork'), at(3)]) {
    b.tip = tip;
    await expect(anchoring.reanchor('because', from, signal)).rejects.toThrow('block 4 is final here');
  }
  b.tip = main;
  await world.store.prepend([at(2)]);
  expect(await anchoring.reanchor('because', from, signal)).toBe(false);
  expect(await head()).toEqual(refOf(at(5)));
});
