import { describe, expect, it } from 'vitest';
import { Shares } from './shares.ts';

describe('Shares', () => {
  it('gives one client half of all, and the next one half of what is left', () => {
    const shares = new Shares(100);
    expect(shares.take('a', 51)).toBe(false);
    expect(shares.take('a', 50)).toBe(true);
    expect(shares.take('a', 1)).toBe(false);
    expect(shares.take('b', 25)).toBe(true);
    expect(shares.take('b', 1)).toBe(false);
    expect(shares.taken).toBe(75);
  });

  it('is shared out evenly by reads that come and go, with as much left for the next who asks', () => {
    const shares = new Shares(4_096);
    const held = new Map(Array.from({ length: 15 }, (_, client) => [`greedy ${client}`, 0]));
    // Each takes all it can, and from then on one part as often as one of its reads is done.
    for (let turn = 0; turn < 1_000; turn++) {
      for (const [client, count] of held) {
        let own = count;
        if (own > 0) shares.give(client, 16);
        own = Math.max(0, own - 16);
        while (shares.take(client, 16)) own += 16;
        held.set(client, own);
      }
    }
    expect(Math.max(...held.values())).toBeLessThan(2 * Math.min(...held.values()));
    expect(shares.take('next', 64)).toBe(true);
  });

  it('is whole again when everything was given back', () => {
    const shares = new Shares(100);
    for (const client of ['a', 'b', 'c']) shares.take(client, 10);
    shares.take('a', 5);
    shares.give('a', 10);
    shares.give('a', 5);
    shares.give('b', 10);
    shares.give('c', 10);
    expect(shares.taken).toBe(0);
    expect(shares.take('d', 50)).toBe(true);
  });
});
