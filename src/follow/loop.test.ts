import { afterEach, describe, expect, it } from 'vitest';
import { FollowWorld, HYSTERESIS, REFUSED_AFTER } from '../../test/support/follow/world.ts';
import { refOf } from '../../test/support/store/contract-chain.ts';
import type { Outcome } from '../chain/outcome.ts';
import type { FollowEvent } from './events.ts';

// Everything that follows a chain, on a clock of its own: twenty minutes take a moment.
const worlds: FollowWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end();
});

interface Begun {
  readonly world: FollowWorld;
  /** The head of all upstreams, and ours. */
  readonly main: Outcome;
}

/** A copy that began at block 50 and follows upstreams that are at block 60. */
async function begin(count: number, options: Partial<FollowWorld['options']> = {}): Promise<Begun> {
  const world = new FollowWorld(count, options);
  worlds.push(world);
  const genesis = world.upstream('a').tip;
  const anchor = world.grow(genesis, 50);
  const main = world.grow(anchor, 10);
  await world.follow(anchor);
  for (const { name } of world.upstreams) await world.say(name, main);
  expect(await world.head()).toEqual(refOf(main));
  expect(world.following?.leader).toBe('a');
  return { world, main };
}

/** Every head that was ever served. */
const served = (world: FollowWorld): readonly string[] =>
  world.events.flatMap((event) => (event.kind === 'moved' ? [event.head.hash] : []));
const anchored = (world: FollowWorld): number =>
  world.events.filter(({ kind }) => kind === 'anchored').length;
const ledBy = (world: FollowWorld): readonly unknown[] =>
  world.events.filter((event): event is FollowEvent & { kind: 'led' } => event.kind === 'led').slice(1);

describe('with upstreams that disagree', () => {
  it('serves nothing of a fork that is not the leader’s, however high it grows', async () => {
    const { world, main } = await begin(2);
    let [ours, theirs] = [main, world.at(main, 55) ?? main];
    for (let round = 0; round < 40; round++) {
      theirs = world.grow(theirs, 3, 'fork');
      await world.say('b', theirs);
      ours = world.grow(ours, 1);
      await world.say('a', ours);
      await world.wait(2_000);
    }
    expect(await world.head()).toEqual(refOf(ours));
    const all = served(world);
    for (let at = theirs; at.number > 55; at = world.at(at, at.number - 1) ?? at) {
      expect(all).not.toContain(at.hash);
    }
    expect(ledBy(world)).toEqual([]);
    expect(world.following?.trouble).toBeUndefined();
  });

  it('keeps its copy when one comes back after twenty minutes of blocks on another fork', async () => {
    const { world, main } = await begin(2);
    const b = world.upstream('b');
    b.isDown = true;
    let ours = main;
    for (let minute = 0; minute < 20; minute++) {
      ours = world.grow(ours, 5);
      await world.say('a', ours);
      await world.wait(60_000, 10_000);
    }
    b.isDown = false;
    // 200 ms blocks: deeper than the undo window, and below the anchor, and far higher than ours.
    const fork = world.grow(world.at(main, 40) ?? main, 6_000, 'fork');
    await world.say('b', fork);
    for (let minute = 0; minute < 20; minute++) {
      ours = world.grow(ours, 5);
      await world.say('a', ours);
      await world.wait(60_000, 10_000);
    }
    expect(await world.head()).toEqual(refOf(ours));
    expect(anchored(world)).toBe(0);
    expect(ledBy(world)).toEqual([]);
    expect(world.events.filter(({ kind }) => kind === 'trouble')).toEqual([]);
  });

  it('goes on with who has the leader’s chain when the leader falls behind, and with nobody before', async () => {
    const { world, main } = await begin(3);
    const fork = world.grow(world.at(main, 58) ?? main, 50, 'fork');
    await world.say('c', fork);
    let ours = main;
    for (let block = 0; block < 10; block++) {
      ours = world.grow(ours, 1);
      // Where it extends ours it counts at once, whoever leads.
      await world.say('b', ours);
      expect(await world.head()).toEqual(refOf(ours));
      await world.wait(1_000);
    }
    expect(ledBy(world)).toEqual([{ kind: 'led', from: 'a', to: 'b', reason: 'behind' }]);
    expect(served(world)).not.toContain(fork.hash);
  });

  it('goes on with another when the leader names heads and gives no blocks', async () => {
    const { world, main } = await begin(2);
    world.upstream('a').isLimited = true;
    let ours = main;
    for (let round = 0; round < 8; round++) {
      // Polls miss blocks, so numbers have to be asked for.
      ours = world.grow(ours, 3);
      for (const { name } of world.upstreams) await world.say(name, ours);
      await world.wait(1_000);
    }
    expect(ledBy(world)).toEqual([{ kind: 'led', from: 'a', to: 'b', reason: 'behind' }]);
    expect(await world.head()).toEqual(refOf(ours));
  });

  it('follows nobody below what is final, says so, and goes on with another', async () => {
    const { world, main } = await begin(2);
    await world.store.mark({ finalized: refOf(world.at(main, 57) ?? main) });
    const fork = world.grow(world.at(main, 56) ?? main, 9, 'fork');
    await world.say('a', fork);
    expect(await world.head()).toEqual(refOf(main));
    expect(ledBy(world)).toEqual([{ kind: 'led', from: 'a', to: 'b', reason: 'refused' }]);
    const next = world.grow(main, 1);
    await world.say('b', next);
    expect(await world.head()).toEqual(refOf(next));
    const alone = await begin(1);
    await alone.world.store.mark({ finalized: refOf(alone.world.at(alone.main, 57) ?? alone.main) });
    await alone.world.say('a', alone.world.grow(alone.world.at(alone.main, 56) ?? alone.main, 9, 'fork'));
    await alone.world.wait(3_600_000, 5_000);
    expect(alone.world.following?.trouble).toContain('block 57, which is final');
    expect(await alone.world.head()).toEqual(refOf(alone.main));
    expect(anchored(alone.world)).toBe(0);
  });

  it('takes what is safe and final from the leader alone, and never back', async () => {
    const { world, main } = await begin(2);
    const ref = (number: number) => refOf(world.at(main, number) ?? main);
    world.upstream('a').finality = { safe: ref(57), finalized: ref(55) };
    world.upstream('b').finality = { safe: ref(60), finalized: ref(60) };
    await world.wait(8_000);
    expect(await world.store.marks()).toMatchObject({ safe: ref(57), finalized: ref(55) });
    world.upstream('a').isDown = true;
    world.upstream('b').finality = { safe: ref(56), finalized: ref(52) };
    await world.wait(HYSTERESIS + 8_000);
    expect(world.following?.leader).toBe('b');
    expect(await world.store.marks()).toMatchObject({ safe: ref(57), finalized: ref(55) });
    // A reorg takes safe to where the forks part, and no further.
    const fork = world.grow(world.at(main, 56) ?? main, 6, 'fork');
    await world.say('b', fork);
    expect(await world.store.marks()).toMatchObject({ head: refOf(fork), safe: ref(56), finalized: ref(55) });
  });

  it('uses no upstream of another chain, whenever it turns out to be one', async () => {
    const { world, main } = await begin(2);
    const b = world.upstream('b');
    b.otherChain = 5n;
    await world.say('b', world.grow(main, 1, 'other'));
    expect(await world.head()).toEqual(refOf(main));
    world.upstream('a').isDown = true;
    await world.wait(60_000);
    expect(await world.head()).toEqual(refOf(main));
    b.otherChain = undefined;
    await world.wait(HYSTERESIS);
    expect(world.following?.leader).toBe('b');
  });
});

describe('with one upstream', () => {
  it('follows a step back without a new block after the hysteresis time', async () => {
    const { world, main } = await begin(1);
    const back = world.at(main, 57) ?? main;
    await world.say('a', back);
    await world.wait(HYSTERESIS - 500);
    expect(await world.head()).toEqual(refOf(main));
    await world.wait(1_000);
    expect(await world.head()).toEqual(refOf(back));
    expect(world.published.at(-1)).toMatchObject({ kind: 'confirmed', added: [], removed: { length: 3 } });
    await world.say('a', main);
    expect(await world.head()).toEqual(refOf(main));
  });

  it('follows every reorg at once', async () => {
    const { world, main } = await begin(1);
    let tip = main;
    for (const [depth, length] of [
      [1, 2],
      [3, 3],
      [5, 2],
    ] as const) {
      tip = world.grow(world.at(tip, tip.number - depth) ?? tip, length, `${depth}`);
      await world.say('a', tip);
      expect(await world.head()).toEqual(refOf(tip));
    }
  });
});

describe('a copy that cannot go on', () => {
  const AFTER = 600_000;

  it('stays through an outage, and while nobody has its state, for as long as that may pass', async () => {
    const { world, main } = await begin(2);
    for (const upstream of world.upstreams) upstream.isDown = true;
    await world.wait(1_200_000, 5_000);
    const next = world.grow(main, 3);
    for (const upstream of world.upstreams) {
      upstream.isDown = false;
      upstream.isPruned = true;
      upstream.tip = next;
    }
    await world.wait(AFTER - 20_000, 5_000);
    expect(anchored(world)).toBe(0);
    expect(world.following?.trouble).toBe('gone');
    world.upstream('b').isPruned = false;
    await world.wait(10_000);
    expect(await world.head()).toEqual(refOf(next));
    expect(anchored(world)).toBe(0);
    expect(world.following?.trouble).toBeUndefined();
  });

  it('re-anchors once all have said so for long enough, in one step', async () => {
    const { world, main } = await begin(2);
    const next = world.grow(main, 3);
    for (const upstream of world.upstreams) {
      upstream.isPruned = true;
      upstream.tip = next;
    }
    await world.wait(AFTER - 20_000, 5_000);
    expect(anchored(world)).toBe(0);
    await world.wait(40_000, 5_000);
    expect(world.events.filter(({ kind }) => kind === 'anchored')).toMatchObject([
      { anchor: refOf(next), reason: 'no upstream has the state of our head any more' },
    ]);
    expect(await world.store.marks()).toMatchObject({ anchor: refOf(next), head: refOf(next) });
  });

  it('re-anchors ten times sooner where all have the state of their heads: older state does not come back', async () => {
    for (const having of [2, 1]) {
      const { world, main } = await begin(2);
      const next = world.grow(main, 3);
      for (const [index, upstream] of world.upstreams.entries()) {
        upstream.isPruned = true;
        upstream.hasStateOfHead = index < having;
        upstream.tip = next;
      }
      await world.wait(AFTER / 10 - 20_000, 5_000);
      expect(anchored(world)).toBe(0);
      await world.wait(40_000, 5_000);
      expect(anchored(world)).toBe(having === 2 ? 1 : 0);
    }
  });

  it.each(['one of them does not say so', 'it was told not to'])('stays for ever where %s', async (where) => {
    const isForbidden = where === 'it was told not to';
    const { world, main } = await begin(2, { reanchor: !isForbidden });
    const next = world.grow(main, 3);
    for (const upstream of world.upstreams) {
      upstream.isPruned = isForbidden || upstream.name === 'a';
      upstream.tip = next;
    }
    await world.wait(2 * AFTER, 5_000);
    expect(anchored(world)).toBe(0);
  });

  it('stays where one of two is on another fork, and the other one is away, however long', async () => {
    const { world, main } = await begin(2);
    world.upstream('a').isDown = true;
    await world.say('b', world.grow(world.at(main, 40) ?? main, 60, 'fork'));
    await world.wait(3 * AFTER, 5_000);
    expect(world.following?.trouble).toContain('deeper than ours can be taken back');
    expect(anchored(world)).toBe(0);
    world.upstream('a').isDown = false;
    const next = world.grow(main, 1);
    await world.say('a', next);
    await world.wait(60_000);
    expect(await world.head()).toEqual(refOf(next));
  });

  it('stays where it has history that was backfilled', async () => {
    const { world, main } = await begin(1);
    const anchor = world.at(main, 50) ?? main;
    await world.store.prepend([world.at(anchor, 49) ?? anchor]);
    world.upstream('a').isPruned = true;
    await world.say('a', world.grow(main, 1));
    await world.wait(2 * AFTER, 5_000);
    expect(anchored(world)).toBe(0);
    expect((await world.store.marks())?.lowest.number).toBe(49);
  });

  it('re-anchors on another fork only if all are on it for long enough, and nothing of ours is final', async () => {
    for (const isFinal of [false, true]) {
      const { world, main } = await begin(2);
      if (isFinal) await world.store.mark({ finalized: refOf(world.at(main, 52) ?? main) });
      const fork = world.grow(world.at(main, 40) ?? main, 60, 'fork');
      for (const { name } of world.upstreams) await world.say(name, fork);
      await world.wait(AFTER - 60_000, 2_000);
      expect(anchored(world)).toBe(0);
      await world.wait(3 * AFTER, 2_000);
      expect(anchored(world)).toBe(isFinal ? 0 : 1);
      expect(await world.head()).toEqual(refOf(isFinal ? main : fork));
    }
  });
});

describe('with a block that our rules refuse (B16)', () => {
  /** A block on the main chain that does not verify, and some on top of it. */
  const fork = (world: FollowWorld, main: Outcome): readonly [Outcome, Outcome] => {
    const bad = world.grow(main, 1, 'new rules');
    world.invalid.add(bad.hash);
    return [bad, world.grow(bad, 3)];
  };

  it('takes it for the chain’s when another upstream has it, and goes on by itself should it verify', async () => {
    const { world, main } = await begin(2);
    const [bad, tip] = fork(world, main);
    await world.say('a', tip);
    await world.say('b', tip);
    await world.wait(2_000);
    expect(world.rules.tooOld).toContain(`block ${bad.number} ${bad.hash} is part of the chain`);
    expect(world.rules.tooOld).toContain('upgrade');
    expect(world.following?.trouble).toContain('is refused by the rules used here');
    expect(world.lies).toEqual([]);
    expect(await world.head()).toEqual(refOf(main));
    world.invalid.clear();
    await world.wait(20_000);
    expect(await world.head()).toEqual(refOf(tip));
    expect(world.rules.tooOld).toBeUndefined();
  });

  it('takes it for the only upstream’s once that has built on it for a minute', async () => {
    const { world, main } = await begin(1);
    const [bad, tip] = fork(world, main);
    await world.say('a', bad);
    await world.wait(REFUSED_AFTER + 20_000);
    expect(world.rules.tooOld).toBeUndefined();
    expect(world.following?.trouble).toContain('is refused');
    await world.say('a', tip);
    await world.wait(20_000);
    expect(world.rules.tooOld).toContain('is part of the chain');
    expect(world.lies).toEqual([]);
    // It takes it back.
    const other = world.grow(main, 5, 'old rules');
    await world.say('a', other);
    await world.wait(20_000);
    expect(await world.head()).toEqual(refOf(other));
    expect(world.rules.tooOld).toBeUndefined();
  });

  it('follows another upstream that has other blocks, and calls neither a liar', async () => {
    const { world, main } = await begin(2);
    const [, tip] = fork(world, main);
    await world.say('a', tip);
    let theirs = main;
    for (let round = 0; round < 20; round++) {
      theirs = world.grow(theirs, 1);
      await world.say('b', theirs);
      await world.wait(5_000);
    }
    expect(await world.head()).toEqual(refOf(theirs));
    expect(world.rules.tooOld).toBeUndefined();
    expect(world.lies).toEqual([]);
  });
});
