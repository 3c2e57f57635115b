import { expect, it } from 'vitest';
import { EventQueue } from './event-queue.ts';

it('keeps order, knows when it is full, and ends with the signal', async () => {
  const abort = new AbortController();
  const queue = new EventQueue<number>(2);
  const waiting = queue.take(abort.signal);
  queue.put(1);
  expect(await waiting).toBe(1);
  queue.put(2);
  expect(queue.full).toBe(false);
  queue.put(3);
  expect(queue.full).toBe(true);
  expect(await queue.take(abort.signal)).toBe(2);
  expect(queue.clear()).toEqual([3]);
  const last = queue.take(abort.signal);
  abort.abort();
  expect(await last).toBeUndefined();
});
