import { expect, it } from 'vitest';
import { AnswerRoom, type Page } from './page.ts';

const MIB = 2 ** 20;
const LIMITS = { maxResults: 1_000_000, maxBytes: 10 * MIB };
const TEXT = 'x'.repeat(8_191);

/** Fills a page as far as it goes; how much that was. */
function fill(page: Page): number {
  while (page.add(TEXT));
  return page.json.length;
}

it('is as large as an answer may be, while there is room', () => {
  const page = new AnswerRoom().page('a', LIMITS);
  expect(fill(page)).toBeGreaterThan(9.9 * MIB);
  expect(page).toMatchObject({ isFull: true, lacksRoom: false, isEmpty: false });
});

it('ends early where a client has much under way, and leaves room to others', () => {
  const room = new AnswerRoom();
  const first = room.page('a', LIMITS);
  fill(first);
  room.keep('f', 1, first);
  const second = room.page('a', LIMITS);
  expect(fill(second)).toBeLessThan(7 * MIB);
  expect(second.lacksRoom).toBe(true);
  expect(fill(room.page('b', LIMITS))).toBeGreaterThan(5 * MIB);
  second.leave()();
  room.settle('f', 1);
  // Once more is nothing more.
  room.settle('f', 1);
  expect(fill(room.page('c', LIMITS))).toBeGreaterThan(9.9 * MIB);
});

it('is never without some room for short answers, but for what is long by itself', () => {
  const room = new AnswerRoom();
  for (const client of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) fill(room.page(client, LIMITS));
  const page = room.page('a', LIMITS);
  expect(page.add(TEXT)).toBe(true);
  const long = room.page('a', LIMITS);
  expect(long.add('x'.repeat(MIB))).toBe(false);
  expect(long).toMatchObject({ isEmpty: true, lacksRoom: true });
});
