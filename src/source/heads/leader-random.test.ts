import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HYSTERESIS, LeaderWorld, type Peer } from '../../../test/support/source/leader-world.ts';
import type { Exclusion } from './leader-moment.ts';

// Whatever upstreams say, in whatever order: what B19 forbids never happens.
const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const EXCLUSIONS: readonly Exclusion[] = ['caught lying', 'of another chain'];

const step = fc.record({
  peer: fc.nat(2),
  kind: fc.constantFrom(
    'grow',
    'grow',
    'grow',
    'join',
    'join',
    'fork',
    'back',
    'lose',
    'exclude',
    'forgive',
    'wait',
  ),
  size: fc.integer({ min: 1, max: 5 }),
  ms: fc.constantFrom(0, 50, 200, 200, 400, HYSTERESIS, 3 * HYSTERESIS),
  other: fc.nat(2),
  speaks: fc.boolean(),
  outcome: fc.constantFrom('go', 'go', 'go', 'go', 'go', 'fail', 'refuse'),
});

it(`follows the leader, and nobody else but where ours is extended (TEST_SEED=${seed})`, {
  timeout: 60_000,
}, () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3 }),
      fc.array(step, { minLength: 20, maxLength: 120 }),
      (count, steps) => {
        const world = new LeaderWorld(count);
        for (const { peer: at, kind, size, ms, other, speaks, outcome } of steps) {
          const peer = world.peers[at % count] as Peer;
          const model = world.peers[other % count] as Peer;
          world.now += ms;
          if (kind === 'grow') world.grow(peer, size);
          if (kind === 'join') peer.tip = model.tip;
          if (kind === 'back') peer.tip = world.below(peer.tip, size);
          if (kind === 'fork') {
            peer.tip = world.below(peer.tip, size);
            world.grow(peer, 1 + (ms % 7));
          }
          if (kind === 'lose') {
            peer.lostAt ??= world.now;
            world.leader.lost(peer.name, world.now);
          } else if (speaks || kind === 'grow') world.say(peer);
          if (kind === 'exclude') world.out.set(peer.name, EXCLUSIONS[size % 2] ?? 'caught lying');
          if (kind === 'forgive') world.out.delete(peer.name);
          world.act(world.decide(), outcome);
        }
      },
    ),
    { seed, numRuns: 600 },
  );
});

it(`is in the end where an honest majority of one is (TEST_SEED=${seed})`, { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const world = new LeaderWorld(1);
      const [peer] = world.peers as [Peer];
      for (const { kind, size, ms, speaks } of steps) {
        world.now += ms;
        if (kind === 'grow') world.grow(peer, size);
        if (kind === 'back') peer.tip = world.below(peer.tip, size);
        if (kind === 'fork') {
          peer.tip = world.below(peer.tip, size);
          world.grow(peer, 1);
        }
        if (kind === 'lose') world.leader.lost('a', world.now);
        else if (speaks) world.say(peer);
        world.act(world.decide(), 'go');
      }
      // It speaks, and the time that it is owed has passed.
      world.say(peer);
      world.act(world.decide(), 'go');
      world.now += HYSTERESIS;
      world.act(world.decide(), 'go');
      expect(world.ours.hash, world.log.slice(-6).join('\n')).toBe(peer.tip.hash);
    }),
    { seed, numRuns: 300 },
  );
});

it(`never leaves a leader that goes on for another fork (TEST_SEED=${seed})`, { timeout: 60_000 }, () => {
  const round = fc.record({
    ms: fc.integer({ min: 10, max: HYSTERESIS / 2 }),
    grown: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 2, max: 8 })),
    isFirst: fc.boolean(),
    answers: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.array(round, { minLength: 10, maxLength: 60 }),
      (depth, rounds) => {
        const world = new LeaderWorld(2);
        const [a, b] = world.peers as [Peer, Peer];
        // Both are asked at the start, and have what is ours then.
        world.grow(a, 3);
        b.tip = a.tip;
        world.say(a);
        world.say(b);
        world.act(world.decide(), 'go');
        b.tip = world.below(b.tip, depth);
        world.grow(b, 1);
        for (const { ms, grown, isFirst, answers } of rounds) {
          world.now += ms;
          world.isSilent = !answers;
          world.grow(a, grown[0]);
          world.grow(b, grown[1]);
          for (const peer of isFirst ? [a, b] : [b, a]) {
            world.say(peer);
            world.act(world.decide(), 'go');
          }
          const why = world.log.slice(-8).join('\n');
          expect(world.leader.leader, why).toBe('a');
          expect(world.ours.hash, why).toBe(a.tip.hash);
        }
      },
    ),
    { seed, numRuns: 300 },
  );
});
