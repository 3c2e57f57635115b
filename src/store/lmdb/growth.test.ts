import { expect, it } from 'vitest';
import { Growth } from './growth.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

it('is not known before an hour, and then by the whole time', () => {
  let now = 5;
  const growth = new Growth(() => now);
  expect(growth.perDay(1_000)).toBeUndefined();
  now += HOUR_MS - 1;
  expect(growth.perDay(2_000)).toBeUndefined();
  now += 1;
  expect(growth.perDay(2_000)).toBe(24_000);
  now += HOUR_MS;
  expect(growth.perDay(2_000)).toBe(12_000);
  // What was pruned.
  expect(growth.perDay(500)).toBe(-6_000);
});

it('forgets what was more than about a day ago', () => {
  let now = 0;
  const growth = new Growth(() => now);
  let bytes = 0;
  const run = (hours: number, perHour: number): number | undefined => {
    let last: number | undefined;
    for (let minute = 0; minute < hours * 60; minute++) {
      now += MINUTE_MS;
      bytes += perHour / 60;
      last = growth.perDay(bytes);
    }
    return last;
  };
  growth.perDay(0);
  expect(run(48, 6_000)).toBeCloseTo(144_000);
  expect(run(12, 0)).toBeCloseTo(72_000, -3);
  expect(run(13, 0)).toBeCloseTo(0);
});
