import { expect, it } from 'vitest';
import { Trimmer } from './memory.ts';

const MIB = 2 ** 20;

it('gives back what is free once the process has grown, also what was given back and used again', () => {
  const now = { inUse: 100 * MIB, touched: 0, free: 300 * MIB, trims: 0 };
  const trimmer = new Trimmer({
    // As the C library counts: what it gave back stays free.
    free: () => now.free,
    resident: () => now.inUse + now.touched,
    trim: () => {
      now.trims++;
      now.touched = 0;
    },
  });
  const trimsIn = (looks: number): number => {
    now.trims = 0;
    for (let left = looks; left > 0; left--) trimmer.look();
    return now.trims;
  };
  expect(trimsIn(5)).toBe(0);
  now.touched = 200 * MIB;
  expect(trimsIn(5)).toBe(1);
  now.touched = 20 * MIB;
  expect(trimsIn(5)).toBe(0);
  now.touched = 300 * MIB;
  expect(trimsIn(5)).toBe(1);
  // What is in use is not given back, and not tried again until it is freed.
  [now.inUse, now.free] = [350 * MIB, 50 * MIB];
  expect(trimsIn(5)).toBe(1);
  expect(trimsIn(5)).toBe(0);
  [now.inUse, now.touched, now.free] = [100 * MIB, 250 * MIB, 300 * MIB];
  expect(trimsIn(5)).toBe(1);
  expect(trimsIn(5)).toBe(0);
});

it('leaves the C library what it may keep', () => {
  const trimmer = new Trimmer({
    free: () => 20 * MIB,
    resident: () => 1_000 * MIB,
    trim: () => expect.unreachable(),
  });
  expect(() => trimmer.look()).not.toThrow();
});

it('knows the memory of this process', () => {
  expect(() => new Trimmer({ trim: () => undefined }).look()).not.toThrow();
});
