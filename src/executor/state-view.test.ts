import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Outcome } from '../chain/outcome.ts';
import type { StateKey } from '../chain/state-key.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import { type Hex, toHex } from '../primitives/hex.ts';
import {
  callEmitter,
  emitter,
  executeOfficialChain,
  HEAD,
  loadFrom,
  readSlots,
  restoreLast,
  type roomyOptions,
  runCode,
  zeroSlot,
} from './fixture.ts';
import type { CallRequest, StateLoader } from './interface.ts';
import type { NativeExecutor } from './native-executor.ts';

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
      await expect(view.call(callEmitter)).rejects.toThrow(/malformed/);
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

  it('reads a call of a block below the window that needs as much as a view holds', async () => {
    const executor = restored(loadFrom(outcomes), { viewEntries: 3_000 });
    const view = executor.view(headerOf(3));
    expect(await view.call(readSlots(2_900))).toEqual({ kind: 'success', output: '0x' });
    // What is held already has to give way first.
    expect(await view.call({ ...readSlots(2_900), to: emitter, stateOverrides: shifted() })).toEqual({
      kind: 'success',
      output: '0x',
    });
  });

  it('ends with a timeout when loading takes longer than a call may, and when nobody waits any more', async () => {
    // Each round finds one more key: slot N+1 is named by what slot N holds.
    const endless: StateLoader = (keys) =>
      keys.map((key) => (key.kind === 'slot' ? increment(key.slot) : new Uint8Array(0)));
    // PUSH1 1; JUMPDEST; SLOAD; PUSH1 2; JUMP
    const chase = runCode('0x60015b54600256');
    const view = restored(endless, { callTimeLimitMs: 30 }).view(headerOf(HEAD));
    expect(await view.call(chase)).toEqual({ kind: 'timeout' });
    const gone = new AbortController();
    const patient = restored(endless).view(headerOf(HEAD));
    const answer = patient.call(chase, gone.signal);
    gone.abort();
    expect(await answer).toEqual({ kind: 'cancelled' });
  });
});

/** The loop of `readSlots`, at the emitter's address: other keys than before. */
function shifted(): NonNullable<CallRequest['stateOverrides']> {
  const [override] = Object.values(readSlots(2_900).stateOverrides ?? {});
  return { [emitter]: override ?? {} };
}

function increment(slot: Uint8Array): Uint8Array {
  const value = BigInt(toHex(slot)) + 1n;
  return Buffer.from(value.toString(16).padStart(value > 255n ? 4 : 2, '0'), 'hex');
}
