import { expect, it, vi } from 'vitest';
import { FollowWorld, targetOf } from '../../test/support/follow/world.ts';
import { refOf } from '../../test/support/store/contract-chain.ts';
import type { Outcome } from '../chain/outcome.ts';
import { InvalidBlockError, UnknownForkError } from '../executor/errors.ts';
import type { FeedItem } from '../feed/interface.ts';
import type { RulesStop } from '../rules/row.ts';
import type { Target } from '../source/heads/leader.ts';
import { RefusedBlockError } from './blocks/refused-block.ts';
import { ChainMover } from './mover.ts';

const { signal } = new AbortController();

/** A copy of blocks 5 to 20 of the main chain of two upstreams, with some of it marked. */
async function begin(marks: { readonly safe?: number; readonly finalized?: number } = {}) {
  const world = new FollowWorld(2);
  const [a, b] = world.upstreams;
  if (a === undefined || b === undefined) throw new Error('no upstreams');
  const main = world.grow(a.tip, 20);
  a.tip = main;
  b.tip = main;
  const at = (number: number): Outcome => world.at(main, number) ?? main;
  await world.store.append([at(5)], { partial: true });
  for (let number = 6; number <= 20; number++) await world.store.append([at(number)]);
  const marked = Object.entries(marks).map(([name, number]) => [name, refOf(at(number))] as const);
  await world.store.mark(Object.fromEntries(marked));
  const go = async (target: Target): Promise<void> => {
    while (!(await world.mover.moveTowards(target, signal)));
  };
  return { world, main, at, go, a, b };
}

const kinds = (items: readonly FeedItem[]): string[] => items.map(({ kind }) => kind);

it('goes where the leader goes, onto forks that are higher, as high and lower', async () => {
  const { world, at, go, main } = await begin();
  await go(targetOf(world.grow(main, 1), 'follow'));
  for (const [from, length] of [
    [19, 3],
    [17, 4],
    [12, 2],
  ] as const) {
    const tip = world.grow(at(from), length, `fork of ${from}`);
    await go(targetOf(tip, 'follow'));
    expect(await world.head()).toEqual(refOf(tip));
  }
  expect(world.events.filter(({ kind }) => kind === 'reorganised')).toHaveLength(3);
});

it('takes back what stood on other contents of a new head before anybody can see it on top of that (B6)', async () => {
  const { world, main } = await begin();
  const tip = world.grow(main, 1);
  const modules = world.modules();
  let lost = true;
  const takeLostPreconfirmed = (): boolean => {
    const was = lost;
    lost = false;
    return was;
  };
  const headAt: (number | undefined)[] = [];
  const publish = async (item: FeedItem): Promise<void> => {
    headAt.push((await world.head())?.number);
    return modules.publish(item);
  };
  const executor = { ...(modules.executor as object), takeLostPreconfirmed } as never;
  const options = { undoWindow: { blocks: 20, ms: 0 }, hotWindow: 20, catchUpBlocks: 4, verifyState: false };
  const mover = new ChainMover(options, { ...modules, executor, publish, prove: async () => [] });
  while (!(await mover.moveTowards(targetOf(tip, 'follow'), signal)));
  expect(world.published).toMatchObject([
    { kind: 'dropped', from: 22, reason: 'sealedOtherwise', version: undefined },
    { kind: 'confirmed', added: [{ number: 21 }] },
  ]);
  expect(headAt).toEqual([20, 21]);
});

it('extends only where it was told to extend', async () => {
  const { world, at, go, a, b, main } = await begin();
  const fork = world.grow(at(18), 6, 'fork');
  b.tip = fork;
  const before = await world.head();
  // Higher, and as high: neither stands on our head.
  for (const tip of [fork, world.at(fork, 20) ?? fork, world.at(fork, 19) ?? fork]) {
    await expect(go(targetOf(tip, 'extend', 'b'))).rejects.toThrow('does not extend ours');
  }
  expect(await world.head()).toEqual(before);
  expect(world.published).toEqual([]);
  // Numbers are asked of the upstream that named the head, which alone knows what they mean.
  expect(world.calls.filter((call) => /^block \d/.test(call)).every((call) => call.endsWith('of b'))).toBe(
    true,
  );
  const tip = world.grow(main, 3);
  b.tip = tip;
  a.tip = fork;
  await go(targetOf(tip, 'extend', 'b'));
  expect(await world.head()).toEqual(refOf(tip));
});

it('takes the blocks that are there when an upstream names more than it has', async () => {
  const { world, go, a, main } = await begin();
  a.tip = world.grow(main, 2);
  const absurd = { ...world.add(world.grow(main, 3, 'absurd')), number: 9_000_000 };
  await expect(go(targetOf(absurd, 'follow'))).rejects.toMatchObject({ type: { code: 'unknownBlock' } });
  expect(await world.head()).toEqual(refOf(a.tip));
});

it('never replaces what is final, and asks once before it fetches a long fork', async () => {
  const { world, at, go, a } = await begin({ safe: 15, finalized: 10 });
  const before = await world.store.marks();
  const final = 'below block 10, which is final';
  a.tip = world.grow(at(8), 30, 'long');
  await expect(go(targetOf(a.tip, 'follow'))).rejects.toThrow(final);
  expect(world.calls).toContain('hash 10 of a');
  expect(world.calls.filter((call) => call.startsWith('block')).length).toBeLessThan(15);
  a.tip = world.grow(at(9), 2, 'short');
  await expect(go(targetOf(a.tip, 'follow'))).rejects.toThrow(final);
  await expect(go(targetOf(a.tip, 'back'))).rejects.toThrow(final);
  await expect(go(targetOf(at(9), 'back'))).rejects.toThrow(final);
  expect(await world.store.marks()).toEqual(before);
  expect(world.published).toEqual([]);
  // The final block itself stays, so what stands on it can be replaced.
  await go(targetOf(world.grow(at(10), 3, 'above'), 'follow'));
  expect(await world.store.marks()).toMatchObject({ safe: refOf(at(10)), finalized: refOf(at(10)) });
});

it('does not take back more than it can', async () => {
  const { world, at, go, a, main } = await begin();
  // Below the anchor, and, from a head further up, deeper than the undo window.
  a.tip = world.grow(at(3), 30, 'deep');
  await expect(go(targetOf(a.tip, 'follow'))).rejects.toThrow('deeper than ours can be taken back');
  a.tip = world.grow(main, 10);
  await go(targetOf(a.tip, 'follow'));
  const fork = world.grow(at(12), 20, 'window');
  a.tip = fork;
  await expect(go(targetOf(fork, 'follow'))).rejects.toThrow('deeper than ours can be taken back');
  await expect(go(targetOf(at(13), 'back'))).rejects.toThrow('deeper than ours can be taken back');
});

it('goes back to a block of its own when it is told to, and only then', async () => {
  const { world, at, go } = await begin({ safe: 18, finalized: 10 });
  await go(targetOf(at(14), 'follow'));
  expect(await world.head()).toEqual(refOf(at(20)));
  await go(targetOf(at(14), 'back'));
  expect(await world.store.marks()).toMatchObject({
    head: refOf(at(14)),
    safe: refOf(at(14)),
    finalized: refOf(at(10)),
  });
  expect(kinds(world.published)).toEqual(['dropped', 'confirmed']);
  expect(world.published[1]).toMatchObject({ added: [], removed: { length: 6, 0: { hash: at(20).hash } } });
  await go(targetOf(at(10), 'back'));
  expect(await world.head()).toEqual(refOf(at(10)));
  await go(targetOf(at(12), 'follow'));
  expect(await world.head()).toEqual(refOf(at(12)));
});

it('drops pre-confirmed state before hot state is restored from the store', async () => {
  const { world, go, main } = await begin();
  const bad = world.grow(main, 1, 'bad');
  world.invalid.add(bad.hash);
  await expect(go(targetOf(bad, 'follow'))).rejects.toThrow('gas used');
  const done = world.calls.filter((call) => !call.startsWith('block'));
  expect(done).toEqual(['drop pre-confirmed', 'publish dropped', 'restore']);
});

it('reports who names a block as what it is not', async () => {
  const { world, at, go, main } = await begin();
  const fork = world.grow(at(15), 1, 'fork');
  const head = { number: 21, hash: fork.hash, parentHash: main.hash, upstream: 'b' };
  await expect(go({ head, mode: 'extend' })).rejects.toThrow('as what it is not');
  expect(world.lies).toMatchObject([{ upstream: 'b', lie: { item: fork.hash } }]);
  expect(await world.head()).toEqual(refOf(main));
});

it('bans nobody for a block that its rules refuse, and takes those below it (B16)', async () => {
  const { world, go, main, a } = await begin();
  const tip = world.grow(main, 8);
  a.tip = tip;
  const bad = world.at(tip, 23) ?? tip;
  world.invalid.add(bad.hash);
  await expect(go(targetOf(tip, 'follow'))).rejects.toThrow('gas used');
  await expect(go(targetOf(tip, 'follow'))).rejects.toThrow(RefusedBlockError);
  expect(await world.head()).toEqual(refOf(world.at(tip, 22) ?? tip));
  expect(world.lies).toEqual([]);
  // Rules that fit.
  world.invalid.clear();
  await go(targetOf(tip, 'follow'));
  expect(await world.head()).toEqual(refOf(tip));
});

it('executes no block of a time whose rules are not known (B16)', async () => {
  const { world, main, a } = await begin();
  const tip = world.grow(main, 8);
  a.tip = tip;
  const time = world.at(tip, 23)?.timestamp ?? 0;
  const stop = (): RulesStop => ({ time, reason: 'a fork that is not known here' });
  const options = { undoWindow: { blocks: 16, ms: 0 }, hotWindow: 16, catchUpBlocks: 4, verifyState: true };
  const mover = new ChainMover(options, { ...world.modules(), prove: async () => [], stop });
  const go = async (target: Target): Promise<void> => {
    while (!(await mover.moveTowards(target, signal)));
  };
  await expect(go(targetOf(tip, 'follow'))).rejects.toThrow(UnknownForkError);
  expect(await world.head()).toEqual(refOf(world.at(tip, 22) ?? tip));
  // A reorg below it is followed as far as that.
  const fork = world.grow(world.at(main, 19) ?? main, 6, 'fork');
  a.tip = fork;
  await expect(go(targetOf(fork, 'follow'))).rejects.toThrow('a fork that is not known here');
  expect(await world.head()).toEqual(refOf(world.at(fork, 22) ?? fork));
});

it('asks for traces again, some time after one was wrong', async () => {
  const world = new FollowWorld(1);
  const [a] = world.upstreams;
  if (a === undefined) throw new Error('no upstream');
  const anchor = world.grow(a.tip, 5);
  const tip = world.grow(anchor, 1);
  await world.store.append([anchor], { partial: true });
  let asked = 0;
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000_000);
  const modules = world.modules();
  const address = (at: number) => ({ kind: 'account', address: new Uint8Array(20).fill(at) }) as const;
  const account = { nonce: '0x0', balance: '0x0', code: '0x', storage: {} };
  const mover = new ChainMover(
    { undoWindow: { blocks: 16, ms: 0 }, hotWindow: 16, catchUpBlocks: 4, verifyState: false },
    {
      ...modules,
      prove: async () => [],
      source: {
        ...modules.source,
        prestate: async () => {
          asked++;
          const names = Array.from({ length: 9 }, (_, at) => `0x${Buffer.alloc(20, at).toString('hex')}`);
          return { value: [Object.fromEntries(names.map((name) => [name, account]))], upstream: 'a' };
        },
      },
      executor: {
        ...(modules.executor as object),
        // A block that reads much, and does not verify.
        execute: async (_: Uint8Array, load: (keys: unknown[], asOf: number) => Promise<unknown>) => {
          await load(
            Array.from({ length: 9 }, (__, at) => address(at)),
            5,
          );
          throw new InvalidBlockError('gas used');
        },
      } as never,
    },
  );
  const attempt = (): Promise<unknown> => mover.moveTowards(targetOf(tip, 'follow'), signal).catch(() => {});
  await attempt();
  await attempt();
  expect(asked).toBe(1);
  now.mockReturnValue(1_000_000 + 300_000);
  await attempt();
  expect(asked).toBe(2);
  now.mockRestore();
});

it('goes onto forks that part deeper than hot state reaches, down to what is final', async () => {
  const { world, main, at, a } = await begin({ finalized: 7 });
  const mover = new ChainMover(
    { undoWindow: { blocks: 16, ms: 0 }, hotWindow: 4, catchUpBlocks: 3, verifyState: true },
    { ...world.modules(), prove: async () => [] },
  );
  const go = async (target: Target): Promise<void> => {
    while (!(await mover.moveTowards(target, signal)));
  };
  const fork = world.grow(at(8), 14, 'fork');
  a.tip = fork;
  await go(targetOf(fork, 'follow', 'a'));
  expect(await world.head()).toEqual(refOf(fork));
  // Taken off a few blocks at a time, so that what subscribers are told of them is never held whole.
  const told = world.published.flatMap((item) => (item.kind === 'confirmed' ? [item] : []));
  expect(told.map(({ removed, added }) => [removed.length, added.length]).slice(0, 3)).toEqual([
    [4, 0],
    [4, 0],
    [4, 3],
  ]);
  expect(told.flatMap(({ removed }) => removed.map(({ number }) => number))).toEqual(
    Array.from({ length: 12 }, (_, index) => 20 - index),
  );
  // The fork is not executed on what was hot before.
  expect(world.calls.filter((call) => call.startsWith('revert'))).toEqual([]);
  const deeper = world.grow(at(6), 20, 'deeper');
  a.tip = deeper;
  await expect(go(targetOf(deeper, 'follow', 'a'))).rejects.toThrow('is final');
  expect(await world.head()).toEqual(refOf(fork));
  expect(main.number).toBe(20);
});

it('keeps a deep fork out whose first blocks do not verify, and takes nothing off', async () => {
  const { world, main, at, a } = await begin();
  const mover = new ChainMover(
    { undoWindow: { blocks: 16, ms: 0 }, hotWindow: 4, catchUpBlocks: 3, verifyState: true },
    { ...world.modules(), prove: async () => [] },
  );
  const fork = world.grow(at(8), 14, 'fork');
  a.tip = fork;
  world.invalid.add(world.at(fork, 10)?.hash ?? '0x');
  const target = targetOf(fork, 'follow', 'a');
  await expect(mover.moveTowards(target, signal)).rejects.toThrow('gas used');
  expect(await world.head()).toEqual(refOf(main));
  expect(kinds(world.published)).toEqual(['dropped', 'dropped']);
});
