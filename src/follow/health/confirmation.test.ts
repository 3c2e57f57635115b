import { expect, it } from 'vitest';
import type { Hex } from '../../primitives/hex.ts';
import { Confirmation } from './confirmation.ts';

const hashOf = (digit: string): Hex => `0x${digit.repeat(64)}`;

it('is as old as the last time that an upstream named our head, or gave us a block', () => {
  let now = 1_000;
  const confirmation = new Confirmation(() => now);
  now += 7;
  expect(confirmation.ageMs).toBe(7);
  confirmation.moved({ number: 1, hash: hashOf('1') });
  now += 100;
  expect(confirmation.ageMs).toBe(100);
  // The same head again, as a chain without new blocks has it.
  confirmation.named({ number: 1, hash: hashOf('1') });
  expect(confirmation.ageMs).toBe(0);
  now += 50;
  // A head that nobody gives us, ours under a false number, and one that we were at before.
  confirmation.named({ number: 2, hash: hashOf('9') });
  confirmation.named({ number: 268_435_455, hash: hashOf('1') });
  expect(confirmation.ageMs).toBe(50);
  confirmation.moved({ number: 2, hash: hashOf('2') });
  now += 20;
  confirmation.named({ number: 1, hash: hashOf('1') });
  expect(confirmation.ageMs).toBe(20);
});
