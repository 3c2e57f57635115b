import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { emptyDiff } from '../../../test/support/store/contract-chain.ts';
import type { Outcome } from '../../chain/outcome.ts';
import { StoreError } from '../../store/error.ts';
import type { Pin } from '../../store/interface.ts';
import { WaitingPins } from './waiting-pins.ts';

const ANCHOR = { number: 7, hash: '0x07' } as const;

function bytes(length: number, last: number): Uint8Array {
  const value = new Uint8Array(length);
  new DataView(value.buffer).setUint32(length - 4, last);
  return value;
}

const account = (index: number, size = 4): Pin => ({
  key: { kind: 'account', address: bytes(20, index) },
  value: new Uint8Array(size),
});
const slot = (index: number): Pin => ({
  key: { kind: 'slot', address: bytes(20, index), slot: bytes(32, index) },
  value: bytes(4, index),
});

/** A store that takes pins when it is told to. */
function setup(maxPins = 20_000) {
  const writes: { readonly pins: readonly Pin[]; readonly end: (error?: Error) => void }[] = [];
  const faults: unknown[] = [];
  const pins = new WaitingPins(
    { maxPins, pinDelayMs: 3_600_000 },
    {
      store: {
        marks: () => ({
          ...{ anchor: ANCHOR, head: ANCHOR, lowest: ANCHOR },
          ...{ safe: undefined, finalized: undefined },
        }),
        pin: (_anchor, written) =>
          new Promise((resolve, reject) => {
            writes.push({ pins: written, end: (error) => (error ? reject(error) : resolve()) });
          }),
      },
      onFault: (error) => faults.push(error),
    },
  );
  return { pins, writes, faults };
}

describe('WaitingPins', () => {
  it('writes in parts, never two at the same time, and forgets what was written', async () => {
    const { pins, writes } = setup();
    pins.add(Array.from({ length: 2_500 }, (_, index) => account(index)));
    const done = Promise.all([pins.flush(), pins.flush()]);
    for (let part = 1; part <= 3; part++) {
      await nextTurn();
      expect(writes).toHaveLength(part);
      // Asked for again while it is under way: it is the same.
      const again = pins.flush();
      writes.at(-1)?.end();
      void again;
    }
    await done;
    expect(writes.map((write) => write.pins.length)).toEqual([1_000, 1_000, 500]);
    expect(pins.weight).toBe(0);
  });

  it('keeps what could not be written, and what came meanwhile', async () => {
    const { pins, writes } = setup();
    pins.add([account(1)]);
    const failed = pins.flush();
    await nextTurn();
    pins.add([account(2)]);
    writes[0]?.end(new StoreError('full', 'no space'));
    await expect(failed).rejects.toThrow('no space');
    expect(pins.weight).toBe(2);
    const done = pins.flush();
    await nextTurn();
    expect(writes[1]?.pins).toEqual([account(1), account(2)]);
    writes[1]?.end();
    await done;
    expect(pins.weight).toBe(0);
  });

  it('is full by count and by bytes, until something is written', async () => {
    const { pins, writes } = setup(10);
    pins.add(Array.from({ length: 9 }, (_, index) => account(index)));
    expect(pins.isFull).toBe(false);
    pins.add([account(9)]);
    expect(pins.isFull).toBe(true);
    const done = pins.flush();
    await nextTurn();
    writes[0]?.end();
    await done;
    expect(pins.isFull).toBe(false);
    pins.add([account(1, 24_576)]);
    expect(pins.isFull).toBe(true);
    // The same key again takes the place of the first.
    pins.add([account(1)]);
    expect(pins.weight).toBe(1);
  });

  it('gives blocks all that waits, or if that is much, what they wrote or wiped, and its code', () => {
    const { pins } = setup();
    pins.add([account(1), slot(2)]);
    const block = (diff: Partial<Outcome['diff']>): Outcome =>
      ({ diff: { ...emptyDiff, ...diff } }) as unknown as Outcome;
    expect(pins.dueWith([block({})])).toHaveLength(2);
    pins.add(Array.from({ length: 2_000 }, (_, index) => account(10 + index)));
    expect(pins.dueWith([block({})])).toEqual([]);
    const written = block({ accounts: [[bytes(20, 1), new Uint8Array()]], wiped: [bytes(20, 2)] });
    expect(pins.dueWith([block({}), written])).toEqual([account(1), slot(2)]);
    const slots = block({ slots: [[bytes(20, 2), bytes(32, 2), new Uint8Array()]] });
    expect(pins.dueWith([slots])).toEqual([slot(2)]);
    const hash = bytes(32, 3);
    const code: Pin = { key: { kind: 'code', hash }, value: bytes(40, 1) };
    pins.add([code]);
    // RLP of [1, 1, hash].
    const called = block({ accounts: [[bytes(20, 3), Uint8Array.from([0xe3, 1, 1, 0xa0, ...hash])]] });
    expect(pins.dueWith([called])).toEqual([code]);
  });

  it('writes nothing of a copy that re-anchored', async () => {
    const { pins, writes } = setup();
    pins.add(Array.from({ length: 1_500 }, (_, index) => account(index)));
    const done = pins.flush();
    await nextTurn();
    await pins.replace(() => Promise.resolve());
    pins.add([account(1)]);
    writes[0]?.end();
    await done;
    expect(writes).toHaveLength(1);
    expect(pins.weight).toBe(1);
  });
});
