import { expect, it } from 'vitest';
import { Precedence } from './precedence.ts';

const RAW = 0;
const TOLD = 1;
const POLLED = 2;

function sources() {
  const live = new Set<number>();
  const precedence = new Precedence(() =>
    [RAW, TOLD, POLLED].map((rank) => ({ rank, isLive: live.has(rank) })),
  );
  return { live, precedence };
}

it('takes whatever comes first, and leaves it only for a better one that begins a block', () => {
  const { live, precedence } = sources();
  live.add(POLLED);
  expect(precedence.admits(POLLED, true)).toBe(true);
  live.add(RAW);
  expect(precedence.admits(RAW, false)).toBe(false);
  expect(precedence.admits(POLLED, true)).toBe(true);
  expect(precedence.admits(RAW, true)).toBe(true);
  expect(precedence.admits(POLLED, true)).toBe(false);
  expect([RAW, TOLD, POLLED].map((rank) => precedence.isFeeding(rank))).toEqual([true, false, false]);
});

it('falls back to the best that is live', () => {
  const { live, precedence } = sources();
  for (const rank of [RAW, TOLD, POLLED]) live.add(rank);
  expect(precedence.admits(RAW, false)).toBe(true);
  expect(precedence.admits(TOLD, true)).toBe(false);
  live.delete(RAW);
  expect(precedence.admits(POLLED, true)).toBe(false);
  expect(precedence.admits(TOLD, true)).toBe(true);
  live.delete(TOLD);
  expect(precedence.admits(POLLED, true)).toBe(true);
});
