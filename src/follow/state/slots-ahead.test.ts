import { describe, expect, it } from 'vitest';
import { executeOfficialChain } from '../../../test/support/serve/executor.ts';
import { describeKey } from '../../chain/state-key.ts';
import { fromHex, toHex } from '../../primitives/hex.ts';
import { SlotsAhead } from './slots-ahead.ts';

const ROOTS = fromHex('0x000f3df6d732807ef1319fb7b8bb8522d0beac02');
const HASHES = fromHex('0x0000f90827f1c53a10cb7a02335b175320002935');

function slot(place: number): Uint8Array {
  return fromHex(`0x${place.toString(16).padStart(64, '0')}`);
}

/** What a block writes at its start. */
function written(number: number, timestamp: number): [Uint8Array, Uint8Array, Uint8Array][] {
  const value = slot(1);
  return [
    [HASHES, slot((number - 1) % 8_191), value],
    [ROOTS, slot(timestamp % 8_191), value],
    [ROOTS, slot((timestamp % 8_191) + 8_191), value],
  ];
}

it('knows what the next blocks of the official chain write at their start', async () => {
  const outcomes = await executeOfficialChain();
  const ahead = new SlotsAhead();
  const keys = new Set<string>();
  const contracts = new Set<string>();
  let known = 0;
  for (const block of outcomes) {
    const isRing = ([address]: readonly Uint8Array[]): boolean =>
      /f3df6d7|f90827f/.test(toHex(address ?? new Uint8Array()));
    for (const [address, at] of block.diff.slots.filter(isRing)) {
      // A fork brings a contract: nothing before has written it.
      if (contracts.has(toHex(address))) {
        expect(keys).toContain(describeKey({ kind: 'slot', address, slot: at }));
        known++;
      }
    }
    for (const [address] of block.diff.slots.filter(isRing)) contracts.add(toHex(address));
    for (const key of ahead.due(block)) keys.add(describeKey(key));
  }
  expect(known).toBeGreaterThan(10);
});

describe.each([
  ['12 s', (at: number) => at * 12],
  ['2 s', (at: number) => at * 2],
  ['1 s', (at: number) => at],
  ['200 ms', (at: number) => Math.floor(at / 5)],
  ['1 s after a slow one', (at: number) => at + (at > 8_100 ? 1 : 0)],
  ['2 s, and once a second more', (at: number) => at * 2 + (at > 8_300 ? 1 : 0)],
  ['12 s with slots missed', (at: number) => (at + Math.floor(at / 7)) * 12],
])('blocks of %s', (_, timeOf) => {
  it('are read for many at once, and none waits', () => {
    const ahead = new SlotsAhead();
    const keys = new Set<string>();
    let [reads, missed] = [0, 0];
    // Around the end of a ring.
    for (let number = 8_100; number < 8_600; number++) {
      const timestamp = 1_700_000_000 + timeOf(number);
      const slots = written(number, timestamp);
      // The first blocks show the pace, and one that breaks it is found too late.
      if (number > 8_120 && number !== 8_301) {
        missed += slots.filter(
          ([address, at]) => !keys.has(describeKey({ kind: 'slot', address, slot: at })),
        ).length;
      }
      for (const [address, at] of slots) keys.add(describeKey({ kind: 'slot', address, slot: at }));
      const due = ahead.due({ number, timestamp, diff: { wiped: [], accounts: [], slots, codes: [] } });
      expect(due.length).toBeLessThanOrEqual(160);
      if (due.length > 0) reads++;
      for (const key of due) keys.add(describeKey(key));
    }
    expect(missed).toBe(0);
    expect(reads).toBeLessThan(500 / 16);
  });
});

it('gives out again what could not be read', () => {
  const ahead = new SlotsAhead();
  const due = (number: number): number => {
    const [timestamp, slots] = [number * 2, written(number, number * 2)];
    return ahead.due({ number, timestamp, diff: { wiped: [], accounts: [], slots, codes: [] } }).length;
  };
  expect([due(10), due(11) > 0, due(12)]).toEqual([0, true, 0]);
  ahead.forget();
  expect(due(13)).toBeGreaterThan(0);
});

it('asks for nothing where no block writes such slots', () => {
  const ahead = new SlotsAhead();
  const diff = { wiped: [], accounts: [], slots: [], codes: [] };
  expect(ahead.due({ number: 8, timestamp: 98, diff })).toEqual([]);
  expect(ahead.due({ number: 9, timestamp: 100, diff })).toEqual([]);
});
