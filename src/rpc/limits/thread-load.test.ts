import { expect, it } from 'vitest';
import { affordableUnits, ThreadLoad } from './thread-load.ts';

it('refuses what costs most first, and a read of one value last', () => {
  expect([0, 0.49].map(affordableUnits)).toEqual([Infinity, Infinity]);
  expect([0.5, 0.75, 0.9, 1, 3].map(affordableUnits)).toEqual([200, 14, 2, 1, 1]);
});

it('is pressed by a thread that is late again and again, not by one pause', () => {
  const load = new ThreadLoad();
  load.note(1_000, 0.1);
  expect(load.pressure).toBeLessThan(0.5);
  for (let look = 0; look < 20; look++) load.note(1_000, 0.1);
  expect(load.pressure).toBeGreaterThan(0.9);
  for (let look = 0; look < 20; look++) load.note(-1, 0.1);
  expect(load.pressure).toBeLessThan(0.1);
});

it('is pressed by a heap that is nearly full', () => {
  const load = new ThreadLoad();
  load.note(0, 0.74);
  expect(load.pressure).toBeLessThanOrEqual(0);
  load.note(0, 0.95);
  expect(load.pressure).toBeCloseTo(1);
});

it('sees how late the thread is', async () => {
  const load = new ThreadLoad();
  using _ = load.watch();
  const end = performance.now() + 1_500;
  while (performance.now() < end) {
    const until = performance.now() + 300;
    while (performance.now() < until);
    await new Promise(setImmediate);
  }
  expect(load.pressure).toBeGreaterThan(0.05);
});
