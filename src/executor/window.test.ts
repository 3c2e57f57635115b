import { beforeAll, describe, expect, it } from 'vitest';
import {
  callEmitter,
  emitter,
  executeOfficialChain,
  HEAD,
  loadFrom,
  officialGenesis,
  readSlots,
  restoreLast,
  roomyOptions,
  zeroSlot,
} from '../../test/support/serve/executor.ts';
import type { Outcome } from '../chain/outcome.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import { toHex } from '../primitives/hex.ts';
import type { StateLoader, StateView } from './interface.ts';
import { NativeExecutor } from './native-executor.ts';

let outcomes: readonly Outcome[];
beforeAll(async () => {
  outcomes = await executeOfficialChain();
});

const headerOf = (number: number): Uint8Array => outcomes[number]?.header ?? new Uint8Array();
const restored = (load: StateLoader, options: Partial<typeof roomyOptions> = {}): NativeExecutor =>
  restoreLast(outcomes, load, options);

/** The answers of one view, as text. */
async function answersOf(view: StateView): Promise<string> {
  const address = toHex(outcomes[0]?.diff.accounts[0]?.[0] ?? new Uint8Array(20));
  return JSON.stringify([
    await view.transactionCount(address),
    await view.storageAt(emitter, zeroSlot),
    await view.call(callEmitter),
  ]);
}

describe('a view of a block', () => {
  it('answers the same inside and outside of the window', async () => {
    for (const number of [0, 1, HEAD - 10, HEAD - 9, HEAD - 1, HEAD]) {
      const narrow = restored(loadFrom(outcomes)).view(headerOf(number));
      const wide = restored(loadFrom(outcomes), { window: HEAD + 1 }).view(headerOf(number));
      expect(narrow.ref).toEqual({ number, hash: outcomes[number]?.hash });
      expect(await answersOf(narrow)).toBe(await answersOf(wide));
    }
  });

  it('stays the same while its block leaves the window', async () => {
    const executor = NativeExecutor.create(
      officialGenesis().config,
      { ...roomyOptions, window: 3 },
      { load: loadFrom(outcomes) },
    );
    executor.open(headerOf(0));
    const views: StateView[] = [executor.view(headerOf(0))];
    const first: string[] = [await answersOf(executor.view(headerOf(0)))];
    for (const { number, header, diffBytes } of outcomes.slice(1)) {
      executor.apply(header, diffBytes);
      const view = executor.view(header);
      views.push(view);
      first.push(await answersOf(view));
      // All views of before, hot and not: a moving window must not show in any of them.
      for (const older of [number - 1, number - 3, number - 4, 0]) {
        const before = views[older];
        if (before !== undefined) expect(await answersOf(before)).toBe(first[older]);
      }
    }
  });

  it('stays the same while its block leaves the window in the middle of a call', async () => {
    let onLoad = (): void => {};
    const executor = NativeExecutor.create(
      officialGenesis().config,
      { ...roomyOptions, window: 3 },
      {
        load: async (keys, number, of) => {
          const values = await loadFrom(outcomes)(keys, number, of);
          onLoad();
          return values;
        },
      },
    );
    executor.open(headerOf(0));
    let next = 1;
    onLoad = () => {
      const block = outcomes[next++];
      if (block !== undefined) executor.apply(block.header, block.diffBytes);
    };
    const view = executor.view(headerOf(0));
    const answers = await Promise.all([
      view.storageAt(emitter, zeroSlot),
      view.call(callEmitter),
      view.call(readSlots(20)),
      ...Array.from({ length: 20 }, async () => view.storageAt(emitter, zeroSlot)),
    ]);
    expect(next).toBeGreaterThan(3);
    onLoad = () => {};
    const still = restored(loadFrom(outcomes), { window: HEAD + 1 }).view(headerOf(0));
    expect(answers.slice(0, 3)).toEqual([
      await still.storageAt(emitter, zeroSlot),
      await still.call(callEmitter),
      { kind: 'success', output: '0x' },
    ]);
    expect(new Set(answers.slice(3))).toEqual(new Set([answers[0]]));
  });

  it('of a block that was taken off is served as far as the loader stands by it', async () => {
    const executor = restored((keys, number, of) => {
      if (of?.number === HEAD) throw new StateUnavailableError('taken off');
      return loadFrom(outcomes)(keys, number, of);
    });
    const view = executor.view(headerOf(HEAD));
    executor.revertTo(HEAD - 1);
    await expect(view.storageAt(emitter, zeroSlot)).rejects.toThrow('taken off');
    expect(await executor.view(headerOf(HEAD - 1)).transactionCount(emitter)).toBe('0x0');
  });

  it('cannot go back further than the window', () => {
    const executor = restored(loadFrom(outcomes));
    expect(() => executor.revertTo(HEAD - 10)).toThrow(/oldest block held is 45/);
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY, 50.5, -1]) {
      expect(() => executor.revertTo(number)).toThrow(/not a block number|not negative/);
    }
    executor.revertTo(HEAD - 9);
  });
});
