import { setImmediate as nextTurn } from 'node:timers/promises';
import { native } from '@chain-query/native';
import { afterEach, beforeAll, describe, expect, it, type Mock, vi } from 'vitest';
import {
  asClient,
  callEmitter,
  emitter,
  executeOfficialChain,
  HEAD,
  loadFrom,
  readSlots,
  restoreLast,
  roomyOptions,
  runCode,
  zeroSlot,
} from '../../test/support/serve/executor.ts';
import type { Outcome } from '../chain/outcome.ts';
import { keyText, type StateKey } from '../chain/state-key.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import { type Hex, toHex } from '../primitives/hex.ts';
import type { CallRequest, HeldStateView, StateLoader } from './interface.ts';
import { NativeExecutor } from './native-executor.ts';
import type { NativeStateView } from './state-view.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

let outcomes: readonly Outcome[];
beforeAll(async () => {
  outcomes = await executeOfficialChain();
});

const headerOf = (number: number): Uint8Array => outcomes[number]?.header ?? new Uint8Array();

const restored = (load: StateLoader, options: Partial<typeof roomyOptions> = {}): NativeExecutor =>
  restoreLast(outcomes, load, options);

describe('a view that lacks state', () => {
  it('loads it in batches and then answers without being asked again', async () => {
    const asked: (readonly StateKey[])[] = [];
    const executor = restored((keys, number, of) => {
      asked.push(keys);
      return loadFrom(outcomes)(keys, number, of);
    });
    const view = executor.view(headerOf(HEAD));
    expect(await view.call(readSlots(500))).toEqual({ kind: 'success', output: '0x' });
    expect(asked.length).toBeLessThanOrEqual(3);
    const rounds = asked.length;
    // Not a promise: all of it is in memory.
    expect(view.call(readSlots(500))).toEqual({ kind: 'success', output: '0x' });
    expect(asked).toHaveLength(rounds);
  });

  it('waits for a slow loader, for many calls at once, and gives each its own answer', async () => {
    const waiting: (() => void)[] = [];
    const slow: StateLoader = async (keys, number, of) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return loadFrom(outcomes)(keys, number, of);
    };
    const executor = restored(slow);
    const slots = Array.from({ length: 100 }, (_, index): Hex => `0x${index.toString(16).padStart(64, '0')}`);
    const answers = Promise.all([
      ...slots.map(async (slot) => executor.view(headerOf(HEAD)).storageAt(emitter, slot)),
      ...slots.map(async () => executor.view(headerOf(HEAD - 3)).call(callEmitter)),
      ...slots.map(async (slot) => executor.view(headerOf(3)).storageAt(emitter, slot)),
    ]);
    const progress = { done: false };
    void answers.finally(() => {
      progress.done = true;
    });
    // Answered in the opposite order of asking, until nobody waits any more.
    while (!progress.done) {
      waiting
        .splice(0)
        .reverse()
        .forEach((answer) => answer());
      await nextTurn();
    }
    const eager = restored(loadFrom(outcomes));
    expect(await answers).toEqual([
      ...(await Promise.all(slots.map(async (slot) => eager.view(headerOf(HEAD)).storageAt(emitter, slot)))),
      ...(await Promise.all(slots.map(async () => eager.view(headerOf(HEAD - 3)).call(callEmitter)))),
      ...(await Promise.all(slots.map(async (slot) => eager.view(headerOf(3)).storageAt(emitter, slot)))),
    ]);
  });

  it('says that state is unavailable when the loader does not know it', async () => {
    const view = restored((keys) => keys.map(() => undefined)).view(headerOf(HEAD));
    const nobody: Hex = `0x${'dead'.padStart(40, '0')}`;
    await expect(view.transactionCount(nobody)).rejects.toThrow(StateUnavailableError);
    await expect(view.storageAt(nobody, zeroSlot)).rejects.toThrow(`slot ${zeroSlot} of ${nobody}`);
    await expect(view.call({ to: nobody, gas: '0x5208' })).rejects.toThrow(StateUnavailableError);
  });

  it('passes on the error of a loader, and works again when the loader does', async () => {
    let broken = true;
    const view = restored((keys, number, of) => {
      if (broken) throw new Error('connection lost');
      return loadFrom(outcomes)(keys, number, of);
    }).view(headerOf(HEAD));
    await expect(view.call(readSlots(3))).rejects.toThrow('connection lost');
    broken = false;
    expect(await view.call(readSlots(3))).toEqual({ kind: 'success', output: '0x' });
  });

  it.each([
    ['garbage', (): Uint8Array => Buffer.from('this is no account, slot, code or hash of any block')],
    ['a byte too many', (value: Uint8Array): Uint8Array => Buffer.concat([value, Buffer.alloc(33, 1)])],
    ['cut-off values', (value: Uint8Array): Uint8Array => value.subarray(0, -1)],
  ])('refuses %s as an error and goes on', async (_, spoil) => {
    let spoiled = true;
    const executor = restored(async (keys, number, of) => {
      const values = await loadFrom(outcomes)(keys, number, of);
      return spoiled ? values.map((value) => value && spoil(value)) : values;
    });
    for (const number of [HEAD, 3]) {
      spoiled = true;
      const view = executor.view(headerOf(number));
      await expect(view.call(callEmitter)).rejects.toMatchObject({ code: 'malformed' });
      spoiled = false;
      expect((await view.call(callEmitter)).kind).toBe('success');
    }
  });

  it.each([
    ['too few', (values: readonly (Uint8Array | undefined)[]) => values.slice(1)],
    ['none', () => []],
  ])('refuses %s values', async (_, cut) => {
    const view = restored(async (keys, number, of) => cut(await loadFrom(outcomes)(keys, number, of)));
    await expect(view.view(headerOf(HEAD)).call(readSlots(5))).rejects.toThrow(StateUnavailableError);
  });

  it('shares what was loaded for a block below the window, whoever opened it', async () => {
    const asked: string[] = [];
    const executor = restored((keys, number, of) => {
      asked.push(...keys.map(keyText));
      return loadFrom(outcomes)(keys, number, of);
    });
    const other = NativeExecutor.attach(executor.id, roomyOptions, {
      load: () => Promise.reject(new Error()),
    });
    expect(await executor.view(headerOf(3)).call(readSlots(100))).toMatchObject({ kind: 'success' });
    const before = asked.length;
    expect(executor.view(headerOf(3)).call(readSlots(100))).toMatchObject({ kind: 'success' });
    expect(other.view(headerOf(3)).call(readSlots(100))).toMatchObject({ kind: 'success' });
    expect(asked).toHaveLength(before);
  });

  it('keeps no more of old blocks than it may, and each call of them can be answered', async () => {
    const historyBytes = 2 ** 20;
    const executor = restored(nothing, { historyBytes });
    const views = Array.from({ length: 20 }, (_, number) => executor.view(headerOf(number)));
    for (const view of [...views, ...views.toReversed()]) {
      expect(await view.call(readSlots(2_000))).toEqual({ kind: 'success', output: '0x' });
      expect(executor.sizes().historyBytes).toBeLessThanOrEqual(historyBytes);
    }
    // What is held of the same block already gives way too.
    const [view] = views;
    for (const stateOverrides of [{}, shifted()]) {
      const [to] = Object.keys(stateOverrides) as Hex[];
      const request = { ...readSlots(2_900), ...(to && { to, stateOverrides }) };
      expect(await view?.call(request)).toEqual({ kind: 'success', output: '0x' });
    }
    expect(executor.sizes().historyBytes).toBeLessThanOrEqual(historyBytes);
  });

  it('answers many calls of many old blocks at once, or says that there is no room', async () => {
    const historyBytes = 2 ** 20;
    const executor = restored(nothing, { historyBytes });
    const answers = await Promise.allSettled(
      Array.from({ length: 30 }, async (_, number) => executor.view(headerOf(number)).call(readSlots(2_000))),
    );
    const refused = answers.filter(({ status }) => status === 'rejected');
    for (const { reason } of refused as PromiseRejectedResult[])
      expect(reason).toBeInstanceOf(OverloadedError);
    expect(refused.length).toBeLessThan(answers.length);
    // What failed has left nothing behind that stands in the way.
    expect(await executor.view(headerOf(1)).call(readSlots(2_000))).toMatchObject({ kind: 'success' });
  });

  it('ends with a timeout when loading takes longer than a call may, and when nobody waits any more', async () => {
    const view = restored(endless, { callTimeLimitMs: 30 }).view(headerOf(HEAD));
    expect(await view.call(chase)).toEqual({ kind: 'timeout' });
    const gone = new AbortController();
    const patient = restored(endless).view(headerOf(HEAD));
    const answer = patient.call(chase, asClient(gone.signal));
    gone.abort();
    expect(await answer).toEqual({ kind: 'cancelled' });
  });

  it.each([HEAD, 3])('gives others their turn between rounds (block %i)', async (number) => {
    let rounds = 0;
    const counting: StateLoader = (...args) => {
      rounds++;
      return endless(...args);
    };
    const view = restored(counting, { callTimeLimitMs: 300 }).view(headerOf(number));
    let turns = 0;
    const progress = { done: false };
    const answer = Promise.resolve(view.call(chase)).finally(() => {
      progress.done = true;
    });
    for (; !progress.done; turns++) await nextTurn();
    expect(await answer).toEqual({ kind: 'timeout' });
    expect(rounds).toBeGreaterThan(2);
    expect(turns).toBeGreaterThanOrEqual(rounds - 1);
  });

  it('runs in the pool after a few rounds on the serving thread, and at once if those are long', async () => {
    const { inline, pool } = watchLanes();
    const view = restored(endless, { callTimeLimitMs: 300 }).view(headerOf(3));
    expect(await view.call(chase)).toEqual({ kind: 'timeout' });
    expect(pool.mock.calls.length).toBeGreaterThan(1);
    inline.mockClear();
    // 280 times around a loop that hashes 8 kB, before each round. Within the steps of a serving thread, but not for long.
    const long = runCode('0x6101185b61200060002050600190038060035760015b54601556');
    expect(await view.call(long)).toEqual({ kind: 'timeout' });
    expect(inline.mock.calls.length).toBeLessThanOrEqual(4);
  });

  it('gives up loading with the request', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const never: StateLoader = (_keys, _number, _of, context) => {
      signals.push(context?.signal);
      return new Promise((_, reject) => {
        context?.signal.addEventListener('abort', () => reject(new Error('given up')));
      });
    };
    const late = restored(never, { callTimeLimitMs: 300 }).view(headerOf(HEAD));
    const staying = new AbortController();
    expect(await late.call(readSlots(3), asClient(staying.signal))).toEqual({ kind: 'timeout' });
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
    const gone = new AbortController();
    const view = restored(never).view(headerOf(HEAD));
    const answer = view.call(readSlots(3), asClient(gone.signal));
    await nextTurn();
    gone.abort();
    expect(await answer).toEqual({ kind: 'cancelled' });
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true]);
  });

  it('hands in no more at a time than a thread can take', async () => {
    const sizes: number[] = [];
    const executor = restored((keys, number, of) => {
      sizes.push(keys.length);
      return loadFrom(outcomes)(keys, number, of);
    });
    expect(await executor.view(headerOf(3)).call(readSlots(1_000))).toMatchObject({ kind: 'success' });
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256);
  });
});

describe('a state that is held', () => {
  const open = (load: StateLoader): HeldStateView => restored(load).view(headerOf(HEAD)) as NativeStateView;

  it('answers until the last one has given it back, and then says that it does not', async () => {
    const view = open(loadFrom(outcomes));
    view.hold();
    view.release();
    expect((await view.call(callEmitter)).kind).toBe('success');
    view.release();
    expect(() => view.transactionCount(emitter)).toThrow(StateUnavailableError);
    expect(() => view.call(callEmitter)).toThrow(StateUnavailableError);
  });

  it('may be given back while it loads, and while a call runs in the pool', async () => {
    const gate = Promise.withResolvers<void>();
    const view = open(async (keys, number, of) => {
      await gate.promise;
      return loadFrom(outcomes)(keys, number, of);
    });
    const answer = Promise.resolve(view.storageAt(emitter, `0x${'f'.repeat(64)}`));
    view.release();
    gate.resolve();
    await expect(answer).rejects.toThrow(StateUnavailableError);
    const busy = open(loadFrom(outcomes));
    // PUSH3 200,000; JUMPDEST; PUSH1 1 SWAP1 SUB; DUP1 PUSH1 4 JUMPI; STOP
    const long = runCode('0x62030d405b600190038060045700');
    expect((await busy.call(long)).kind).toBe('success');
    const running = busy.call(long);
    busy.release();
    expect((await running).kind).toBe('success');
  });
});

describe('a call with much text', () => {
  it('goes to the pool as it is', async () => {
    const { inline, pool } = watchLanes();
    const data: Hex = `0x${'00'.repeat(100_000)}`;
    const view = restored(loadFrom(outcomes)).view(headerOf(HEAD));
    expect(await view.call({ ...runCode('0x00'), data })).toEqual({ kind: 'success', output: '0x' });
    expect(inline).not.toHaveBeenCalled();
    expect(pool).toHaveBeenCalled();
  });

  it('is an error when the pool cannot read it', async () => {
    const to: Hex = `0x${'00'.repeat(70_000)}`;
    const view = restored(loadFrom(outcomes)).view(headerOf(HEAD));
    await expect(view.call({ to: emitter, gas: '0x5208', data: to, from: to })).rejects.toMatchObject({
      code: 'malformed',
    });
  });
});

/** Knows that nothing exists. */
const nothing: StateLoader = (keys) => keys.map(() => new Uint8Array(0));
/** Slot N+1 is named by what slot N holds: each round finds one more key. */
const endless: StateLoader = (keys) =>
  keys.map((key) => (key.kind === 'slot' ? increment(key.slot) : new Uint8Array(0)));
/** PUSH1 1; JUMPDEST; SLOAD; PUSH1 2; JUMP */
const chase = runCode('0x60015b54600256');

/** Where calls run from here on. */
function watchLanes(): { readonly inline: Mock; readonly pool: Mock } {
  const inline = vi.spyOn(native.NativeView.prototype, 'call');
  return { inline, pool: vi.spyOn(native.NativePooledCall.prototype, 'run') };
}

/** The loop of `readSlots`, at the emitter's address: other keys than before. */
function shifted(): NonNullable<CallRequest['stateOverrides']> {
  const [override] = Object.values(readSlots(2_900).stateOverrides ?? {});
  return { [emitter]: override ?? {} };
}

function increment(slot: Uint8Array): Uint8Array {
  const value = BigInt(toHex(slot)) + 1n;
  return Buffer.from(value.toString(16).padStart(value > 255n ? 4 : 2, '0'), 'hex');
}
