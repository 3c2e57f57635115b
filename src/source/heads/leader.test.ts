import { describe, expect, it } from 'vitest';
import type { Hex } from '../../primitives/hex.ts';
import type { HeadEvent } from '../interface.ts';
import { type Decision, Leader } from './leader.ts';
import type { Exclusion } from './leader-moment.ts';

const HYSTERESIS = 5_000;

/** Block `number` of a fork; `forks` says from which block on it is one of its own. */
function block(fork: string, number: number, parts = 0): Omit<HeadEvent, 'upstream'> {
  const name = (at: number): Hex => `0x${at < parts ? 'main' : fork}${at}`;
  return { number, hash: name(number), parentHash: name(number - 1) };
}
const main = (number: number) => block('main', number);

/** Upstreams `a`, `b` and so on, of which the first leads at block 10 of the main chain. */
class World {
  readonly leader: Leader;
  readonly out = new Map<string, Exclusion>();
  now = 100_000;
  ours = main(10);

  constructor(count: number) {
    const names = ['a', 'b', 'c'].slice(0, count);
    this.leader = new Leader(names, this.ours, { hysteresisMs: HYSTERESIS });
    for (const upstream of names) this.leader.named({ ...this.ours, upstream }, this.now);
    this.decide();
  }

  say(upstream: string, head: Omit<HeadEvent, 'upstream'>): Decision {
    this.leader.named({ ...head, upstream }, this.now);
    return this.decide();
  }

  decide(): Decision {
    const { now, out } = this;
    const isOurs = ({ number, hash }: HeadEvent): boolean =>
      number < this.ours.number && hash === main(number).hash;
    const under = new Set(
      this.leader
        .heads()
        .filter(isOurs)
        .map(({ upstream }) => upstream),
    );
    return this.leader.decide({ now, out, under });
  }

  /** Goes where it was told to. */
  go({ target }: Decision): void {
    if (target === undefined) throw new Error('nowhere to go');
    const { head } = target;
    this.leader.moved(head, head.parentHash !== this.ours.hash);
    this.ours = head;
  }

  wait(ms: number): Decision {
    this.now += ms;
    return this.decide();
  }
}

const at = (now: number) => ({ now, out: new Map(), under: new Set<string>() });

describe('who leads', () => {
  it.each([
    ['the highest that has our head', true, 2, 'a'],
    ['the one that has our head for sure', false, 2, 'c'],
    ['the one that has it for sure, when another takes its time to say', undefined, 501, 'c'],
  ])('is at the start %s, once all were heard', (_, holds, now, expected) => {
    const leader = new Leader(['a', 'b', 'c'], main(10), { hysteresisMs: HYSTERESIS });
    leader.named({ ...main(20), upstream: 'a' }, 0);
    expect(leader.decide(at(0))).toMatchObject({ leader: undefined, target: undefined, wakeMs: HYSTERESIS });
    leader.named({ ...main(11), upstream: 'c' }, 1);
    leader.lost('b', 1);
    // Ten blocks between: only asking can tell.
    expect(leader.decide(at(1))).toMatchObject({ leader: undefined, ask: ['a'] });
    expect(leader.decide(at(1))).toMatchObject({ leader: undefined, ask: [], wakeMs: 500 });
    if (holds !== undefined) leader.answered('a', main(10).hash, holds, now);
    expect(leader.decide(at(now))).toMatchObject({
      leader: expected,
      target: { mode: 'follow', head: { upstream: expected } },
    });
  });

  it('is rather one that is a little behind on our chain than one that is ahead on another', () => {
    const world = new World(3);
    world.leader.lost('a', world.now);
    world.say('b', block('fork', 11, 9));
    world.say('c', main(9));
    expect(world.wait(HYSTERESIS).change).toEqual({ from: 'a', to: 'c', reason: 'unreachable' });
  });

  it('does not wait for long for one that says nothing', () => {
    const leader = new Leader(['a', 'b'], main(10), { hysteresisMs: HYSTERESIS });
    leader.named({ ...main(10), upstream: 'b' }, 0);
    expect(leader.decide(at(0)).leader).toBeUndefined();
    expect(leader.decide(at(HYSTERESIS)).leader).toBe('b');
  });

  it('stays the same while it is only a little later, on chains of any speed', () => {
    for (const blockMs of [200, 2_000, 12_000]) {
      const world = new World(2);
      for (let number = 11; number < 200; number++) {
        world.now += blockMs - 150;
        world.go(world.say('b', main(number)));
        world.now += 150;
        expect(world.say('a', main(number)).change).toBeUndefined();
      }
    }
  });

  it('is another when the leader falls behind on its own chain, on chains of any speed', () => {
    for (const blockMs of [200, 2_000, 12_000]) {
      const world = new World(2);
      // Further behind with each block, but never silent.
      for (let number = 11; world.leader.leader === 'a' && number < 500; number++) {
        world.now += blockMs;
        const decision = world.say('b', main(number));
        if (decision.target !== undefined) world.go(decision);
        world.say('a', main(10 + Math.floor((number - 10) / 2)));
        world.decide();
      }
      expect(world.leader.leader).toBe('b');
    }
  });

  it('stays the same while somebody on another fork is higher, and the leader goes on', () => {
    const world = new World(2);
    for (let number = 11; number < 100; number++) {
      world.now += 12_000;
      expect(world.say('b', block('fork', number + 50, 9))).toMatchObject({ leader: 'a', target: undefined });
      const decision = world.say('a', main(number));
      expect(decision).toMatchObject({ leader: 'a', target: { mode: 'follow', head: main(number) } });
      world.go(decision);
      for (const upstream of decision.ask) world.leader.answered(upstream, world.ours.hash, false, world.now);
    }
  });

  it('is another when the leader names nothing while another fork grows', () => {
    const world = new World(2);
    for (const number of [11, 12]) {
      world.now += 12_000;
      expect(world.say('b', block('fork', number, 10)).leader).toBe('a');
    }
    world.now += 12_000;
    const decision = world.say('b', block('fork', 13, 10));
    expect(decision).toMatchObject({
      change: { from: 'a', to: 'b', reason: 'behind' },
      target: { mode: 'follow', head: { upstream: 'b' } },
    });
  });

  it('is another when the leader cannot be reached for long', () => {
    const world = new World(2);
    world.leader.lost('a', world.now);
    expect(world.wait(HYSTERESIS - 1)).toMatchObject({ leader: 'a', wakeMs: 1 });
    expect(world.wait(1).change).toEqual({ from: 'a', to: 'b', reason: 'unreachable' });
    // Back again, it is not needed.
    world.now += 60_000;
    world.go(world.say('b', main(11)));
    expect(world.say('a', main(11)).leader).toBe('b');
  });

  it('is waited for while it is away, but blocks are not: who has our head is gone on with, at its word', () => {
    const world = new World(2);
    world.leader.lost('a', world.now);
    // Heads between were not named: it has just come back, or is polled.
    expect(world.say('b', main(14))).toMatchObject({ leader: 'a', target: undefined, ask: ['b'] });
    world.leader.answered('b', world.ours.hash, true, world.now);
    expect(world.decide()).toMatchObject({
      leader: 'a',
      target: { mode: 'extend', head: { number: 14, upstream: 'b' } },
    });
    const parted = new World(2);
    parted.leader.lost('a', parted.now);
    parted.say('b', block('fork', 14, 9));
    parted.leader.answered('b', parted.ours.hash, false, parted.now);
    expect(parted.decide().target).toBeUndefined();
    // One that is there decides alone what is gone to.
    const led = new World(2);
    expect(led.say('b', main(14))).toMatchObject({ target: undefined, ask: [] });
  });

  it.each(['caught lying', 'of another chain'] as const)(
    'is another at once when the leader is %s',
    (why) => {
      const world = new World(2);
      world.out.set('a', why);
      world.leader.named({ ...main(11), upstream: 'a' }, world.now);
      expect(world.decide()).toMatchObject({
        change: { from: 'a', to: 'b', reason: why },
        target: undefined,
      });
      world.out.set('b', why);
      expect(world.decide()).toMatchObject({ change: { from: 'b', to: undefined, reason: why } });
      world.out.delete('a');
      expect(world.decide()).toMatchObject({
        change: { from: undefined, to: 'a', reason: 'nobody led' },
        target: { head: main(11) },
      });
    },
  );

  it('is another when the leader names a chain that was refused, and that one is tried again later', () => {
    const world = new World(2);
    world.say('a', block('fork', 12, 3));
    world.leader.refused('a', world.now);
    expect(world.decide().change).toEqual({ from: 'a', to: 'b', reason: 'refused' });
    world.leader.lost('b', world.now);
    expect(world.wait(HYSTERESIS).ask).toEqual(['a']);
    world.leader.answered('a', world.ours.hash, false, world.now);
    expect(world.decide().change).toEqual({ from: 'b', to: 'a', reason: 'unreachable' });
    const alone = new World(1);
    alone.say('a', block('fork', 12, 3));
    alone.leader.refused('a', alone.now);
    // There is nobody else: it is tried again, at the pace of whoever tries.
    expect(alone.decide()).toMatchObject({ leader: 'a', change: undefined, target: { mode: 'follow' } });
  });

  it('is another when a block of the leader is beyond our limits, whose heads do not count for a minute', () => {
    const world = new World(2);
    world.leader.overburdened('a', world.now);
    expect(world.decide().change).toEqual({ from: 'a', to: 'b', reason: 'refused' });
    // It extends ours, but may be as hard as the one before.
    expect(world.say('a', main(11)).target).toBeUndefined();
    expect(world.wait(60_000).target).toMatchObject({ head: { upstream: 'a' } });
    const alone = new World(1);
    alone.leader.overburdened('a', alone.now);
    expect(alone.say('a', main(11))).toMatchObject({ leader: 'a', target: { mode: 'follow' } });
  });

  it('takes a head that was named under a false number for another', () => {
    const world = new World(1);
    expect(world.say('a', { ...main(11), number: 999 }).target).toMatchObject({ head: { number: 999 } });
    expect(world.say('a', main(11)).target).toMatchObject({ head: { number: 11 } });
  });

  it('is another when the heads that the leader names cannot be had', () => {
    const world = new World(2);
    const phantom = block('phantom', 11, 11);
    world.leader.failed({ ...phantom, upstream: 'a' }, world.now);
    expect(world.say('a', phantom).target).toBeUndefined();
    // Meanwhile another's heads count where they extend ours.
    const decision = world.say('b', main(11));
    expect(decision.target).toMatchObject({ mode: 'extend', head: { upstream: 'b' } });
    world.go(decision);
    expect(world.wait(HYSTERESIS).change).toEqual({ from: 'a', to: 'b', reason: 'behind' });
    const alone = new World(1);
    alone.leader.failed({ ...phantom, upstream: 'a' }, alone.now);
    expect(alone.say('a', phantom).target).toMatchObject({ mode: 'follow' });
  });
});

describe('where to go', () => {
  it('is where the leader goes, at once, also onto another fork', () => {
    const world = new World(2);
    for (const head of [main(11), block('fork', 11, 9), block('other', 12, 10), block('other', 13, 10)]) {
      const decision = world.say('a', head);
      expect(decision).toMatchObject({ leader: 'a', target: { mode: 'follow', head } });
      world.go(decision);
    }
  });

  it('is where another goes only if that extends ours', () => {
    const world = new World(3);
    expect(world.say('b', block('fork', 11, 10)).target).toBeUndefined();
    expect(world.say('b', block('fork', 12, 10)).target).toBeUndefined();
    // A gap: it may, or it may not.
    expect(world.say('c', main(13)).target).toBeUndefined();
    expect(world.say('b', main(11)).target).toMatchObject({
      mode: 'extend',
      head: { ...main(11), upstream: 'b' },
    });
    expect(world.say('c', main(12)).target).toMatchObject({
      mode: 'extend',
      head: { ...main(12), upstream: 'c' },
    });
    world.out.set('c', 'caught lying');
    expect(world.decide().target).toMatchObject({ head: { upstream: 'b' } });
  });

  it('is not back where the leader stepped to while another has our head: it is behind', () => {
    const world = new World(2);
    for (const number of [11, 12]) {
      world.go(world.say('a', main(number)));
      world.say('b', main(number));
    }
    world.now += 60_000;
    for (const head of [main(9), block('fork', 11, 8)]) {
      expect(world.say('a', head)).toMatchObject({ leader: 'a', target: undefined });
      world.now += 1_000;
    }
    expect(world.wait(HYSTERESIS - 2_001)).toMatchObject({ leader: 'a', target: undefined, wakeMs: 1 });
    expect(world.wait(1)).toMatchObject({
      change: { from: 'a', to: 'b', reason: 'behind' },
      target: undefined,
    });
  });

  it('is back there once nobody has had our head for the hysteresis time', () => {
    const world = new World(2);
    for (const number of [11, 12]) {
      world.go(world.say('a', main(number)));
      world.say('b', main(number));
    }
    world.say('a', main(9));
    world.now += 4_000;
    expect(world.say('b', main(9)).target).toBeUndefined();
    expect(world.wait(HYSTERESIS - 1).target).toBeUndefined();
    expect(world.wait(1)).toMatchObject({ leader: 'a', target: { mode: 'back', head: main(9) } });
  });

  it('is back there when the only upstream stays there, and at once onto a fork of its own', () => {
    const world = new World(1);
    world.go(world.say('a', main(11)));
    expect(world.say('a', main(8)).target).toBeUndefined();
    expect(world.wait(HYSTERESIS - 1).target).toBeUndefined();
    expect(world.wait(1).target).toMatchObject({ mode: 'back', head: main(8) });
    world.say('a', main(11));
    expect(world.say('a', block('fork', 9, 9)).target).toMatchObject({ mode: 'follow' });
  });

  it('is not back for an upstream that only looks so now and then', () => {
    const world = new World(1);
    for (let round = 0; round < 20; round++) {
      expect(world.say('a', main(9)).target).toBeUndefined();
      world.now += HYSTERESIS - 1;
      expect(world.say('a', main(10)).target).toBeUndefined();
      world.now += 1_000;
    }
  });

  it('is asked about where only an upstream can tell whether it has our head', () => {
    const world = new World(2);
    world.go(world.say('a', main(11)));
    world.say('b', main(20));
    expect(world.say('a', main(9))).toMatchObject({ target: undefined, ask: ['b'] });
    // Until it has said so, it may.
    expect(world.wait(HYSTERESIS - 1)).toMatchObject({ leader: 'a', target: undefined, ask: [] });
    world.leader.answered('b', world.ours.hash, true, world.now);
    expect(world.wait(1)).toMatchObject({
      change: { to: 'b', reason: 'behind' },
      target: { mode: 'follow' },
    });
  });
});
