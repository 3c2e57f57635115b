import { describe, expect, it } from 'vitest';
import type { BlockRef } from '../../chain/outcome.ts';
import type { RulesStop } from '../../rules/row.ts';
import type { Marks } from '../../store/interface.ts';
import { UnknownForks } from './unknown-forks.ts';

const block = (number: number) => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}` as const,
  timestamp: number * 10,
  rlp: Uint8Array.of(number),
});
const ref = (number: number): BlockRef => ({ number, hash: block(number).hash });
const marks = (byDiffs?: BlockRef): Marks => ({
  ...{ lowest: ref(1), anchor: ref(1), head: ref(9), safe: undefined, finalized: undefined },
  byDiffs,
});

function forks({
  stop,
  refused,
  unknownFrom = 99,
}: {
  stop?: RulesStop;
  refused?: number;
  unknownFrom?: number;
}) {
  return new UnknownForks({
    stop: () => stop,
    obstacle: () => undefined,
    refused: () => (refused === undefined ? undefined : block(refused).hash),
    isKnown: ([number = 0]) => number < unknownFrom,
  });
}

describe('UnknownForks (B16)', () => {
  it.each([
    ['from the time that upstreams say', { stop: { time: 50, reason: 'a fork' } }],
    ['from the block that our rules refuse', { refused: 5 }],
    ['from the fork that our table does not know', { unknownFrom: 5 }],
  ])('takes blocks by diffs %s', (_, why) => {
    const run = forks(why).above(ref(3), marks());
    expect([4, 5, 6].map((number) => run.takes(block(number)))).toEqual([false, true, true]);
    expect(run.mark).toEqual(ref(5));
  });

  it('goes on by diffs above such a block, and executes again below it', () => {
    const known = forks({});
    const above = known.above(ref(6), marks(ref(5)));
    expect([above.takes(block(7)), above.mark]).toEqual([true, ref(5)]);
    const below = known.above(ref(4), marks(ref(5)));
    expect([below.takes(block(5)), below.mark]).toEqual([false, undefined]);
  });
});
