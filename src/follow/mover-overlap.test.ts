import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FollowWorld, targetOf } from '../../test/support/follow/world.ts';
import { refOf } from '../../test/support/store/contract-chain.ts';
import type { EncodedOutcome, Outcome } from '../chain/outcome.ts';
import type { Store } from '../store/interface.ts';
import { ChainMover } from './mover.ts';

const { signal } = new AbortController();
const OPTIONS = { undoWindow: { blocks: 16, ms: 0 }, hotWindow: 16, catchUpBlocks: 4, verifyState: true };

type Append = Store['append'];

/** Time passes only where a test says so. */
let now = 0;
beforeEach(() => {
  now = 1_000;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** A copy at block 5 of a chain of 40, whose writes and executions are seen, in order, and may be held up. */
async function begin(
  around: (append: Append, args: Parameters<Append>) => ReturnType<Append>,
  executionMs = 0,
) {
  const world = new FollowWorld(1);
  const [a] = world.upstreams;
  if (a === undefined) throw new Error('no upstream');
  const tip = world.grow(a.tip, 40);
  a.tip = tip;
  const at = (number: number): Outcome => world.at(tip, number) ?? tip;
  await world.store.append([at(5)], { partial: true });
  const steps: string[] = [];
  const modules = world.modules();
  const executor = modules.executor as { execute(rlp: Uint8Array): Promise<EncodedOutcome> };
  const execute = async (rlp: Uint8Array): Promise<EncodedOutcome> => {
    const outcome = await executor.execute(rlp);
    now += executionMs;
    steps.push(`executed ${outcome.number}`);
    return outcome;
  };
  const append: Append = async (...args) => {
    const what = args[0].map(({ number }) => number).join(' ');
    steps.push(`write ${what}`);
    const result = await around((...given) => world.store.append(...given), args);
    steps.push(`written ${what}`);
    return result;
  };
  const store = new Proxy(world.store, {
    get: (target, name) => {
      const value = name === 'append' ? append : (Reflect.get(target, name) as unknown);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const mover = new ChainMover(OPTIONS, {
    ...{ ...modules, store, prove: async () => [] },
    executor: { ...executor, execute } as never,
  });
  return { world, at, tip, a, steps, mover };
}

/** The same, whose first write waits until it is let go. */
async function beginHeld(executionMs?: number) {
  const held = Promise.withResolvers<void>();
  let writes = 0;
  const begun = await begin(async (append, args) => {
    writes += 1;
    if (writes === 1) await held.promise;
    return append(...args);
  }, executionMs);
  return { ...begun, held };
}

it('executes the next blocks while some are written, and writes in order', async () => {
  const { held, world, at, steps, mover } = await beginHeld();
  const moved = mover.moveTowards(targetOf(at(17), 'follow'), signal);
  await world.settle();
  // The first are being written: those after them are executed, and no more.
  expect(steps.slice(4)).toEqual([
    'write 6 7 8 9',
    ...[10, 11, 12, 13].map((number) => `executed ${number}`),
  ]);
  expect(world.published).toEqual([]);
  held.resolve();
  expect(await moved).toBe(false);
  expect(await world.head()).toEqual(refOf(at(17)));
  const written = steps.filter((step) => step.startsWith('writ'));
  expect(
    written.filter((_, index) => index % 2 === 0).map((step) => step.replace('write', 'written')),
  ).toEqual(written.filter((_, index) => index % 2 === 1));
  expect(world.published).toMatchObject(
    [6, 10, 14].map((first) => ({ kind: 'confirmed', added: [{ number: first }, {}, {}, {}] })),
  );
});

it('writes what took long to execute before there are as many as may be, but one write at a time', async () => {
  const { held, world, at, steps, mover } = await beginHeld(130);
  const moved = mover.moveTowards(targetOf(at(13), 'follow'), signal);
  await world.settle();
  const executed = (...numbers: number[]): string[] => numbers.map((number) => `executed ${number}`);
  expect(steps).toEqual([...executed(6, 7), 'write 6 7', ...executed(8, 9)]);
  held.resolve();
  expect(await moved).toBe(false);
  expect(await world.head()).toEqual(refOf(at(13)));
  expect(steps.filter((step) => step.startsWith('write '))).toEqual([
    'write 6 7',
    'write 8 9',
    expect.stringMatching(/^write 10 11/),
    ...(steps.includes('write 12 13') ? ['write 12 13'] : []),
  ]);
});

it('puts a fork in the place of another in one write, however long it takes to execute', async () => {
  const { world, at, a, steps, mover } = await begin((append, args) => append(...args), 1_000);
  while (!(await mover.moveTowards(targetOf(at(12), 'follow'), signal)));
  const fork = world.grow(at(9), 4, 'fork');
  a.tip = fork;
  steps.length = 0;
  while (!(await mover.moveTowards(targetOf(fork, 'follow'), signal)));
  expect(await world.head()).toEqual(refOf(fork));
  expect(steps.filter((step) => step.startsWith('write '))).toEqual(['write 10 11 12 13']);
});

it('keeps nothing above what could not be written', async () => {
  let fails = true;
  const { world, at, tip, steps, mover } = await begin(async (append, args) => {
    if (fails && args[0][0]?.number === 10) throw new Error('the disk is full');
    return append(...args);
  });
  const go = (): Promise<boolean> => mover.moveTowards(targetOf(tip, 'follow'), signal);
  await expect(go()).rejects.toThrow('the disk is full');
  expect(steps).toContain('executed 17');
  expect(steps).not.toContain('write 14 15 16 17');
  expect(await world.head()).toEqual(refOf(at(9)));
  // Hot state had gone on: it ends where the store does.
  expect(world.calls.slice(-3)).toEqual(['drop pre-confirmed', 'publish dropped', 'restore']);
  fails = false;
  while (!(await go()));
  expect(await world.head()).toEqual(refOf(tip));
});

it('writes what was executed below a block that does not verify', async () => {
  const { world, at, tip, mover } = await begin((append, args) => append(...args));
  world.invalid.add(at(16).hash);
  const go = (): Promise<boolean> => mover.moveTowards(targetOf(tip, 'follow'), signal);
  await expect(go()).rejects.toThrow('gas used');
  expect(await world.head()).toEqual(refOf(at(13)));
  // And those between the next time, without it.
  expect(await go()).toBe(false);
  expect(await world.head()).toEqual(refOf(at(15)));
});

it('takes no block that was fetched ahead and stands on another fork', async () => {
  const { world, at, a, tip, mover } = await begin((append, args) => append(...args));
  const fork = world.grow(at(11), 20, 'fork');
  const reader = mover.moveTowards(targetOf(tip, 'follow'), signal);
  // The first ones are of the one chain, all that is asked for later is of the other.
  a.tip = fork;
  expect(await reader).toBe(false);
  expect((await world.head())?.number).toBeLessThanOrEqual(31);
  while (!(await mover.moveTowards(targetOf(fork, 'follow'), signal)));
  expect(await world.head()).toEqual(refOf(fork));
});
