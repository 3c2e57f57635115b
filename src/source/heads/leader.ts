import type { BlockRef } from '../../chain/outcome.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { HeadEvent, UpstreamHead } from '../interface.ts';
import { Bans } from '../pool/ban.ts';
import { type Circumstances, type Exclusion, Moment } from './leader-moment.ts';
import { type NamedHead, NamedHeads, type Standing } from './named-heads.ts';

export interface LeaderOptions {
  /** How long the leader may be behind or away, and how long it must stay where it stepped back to. */
  readonly hysteresisMs: number;
}

/** Why another upstream leads. `refused`: its chain parts from ours where nothing can be replaced, or is beyond our limits. */
export type LeaderReason = Exclusion | 'nobody led' | 'unreachable' | 'behind' | 'refused';

export interface LeaderChange {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly reason: LeaderReason;
}

/**
 * Where to go. `follow`: wherever the leader's fork begins. `back`: the same, also when that only takes blocks off.
 * `extend`: only if it stands on our head.
 */
export interface Target {
  readonly head: HeadEvent;
  readonly mode: 'follow' | 'back' | 'extend';
}

export interface Decision {
  readonly leader: string | undefined;
  readonly change: LeaderChange | undefined;
  readonly target: Target | undefined;
  /** Who is to be asked whether our head is on its chain; `answered` is owed for each. */
  readonly ask: readonly string[];
  /** When to decide again though nothing was heard, in milliseconds. */
  readonly wakeMs: number | undefined;
}

/** Blocks that another fork grows by while the leader names nothing, before that one leads. */
const STALLED_BLOCKS = 3;
/** Who rather leads, by how its chain stands to ours. */
const RANKS: readonly Standing[] = ['holds', 'under', 'apart', 'unknown'];
/** An upstream is not asked about our head more often than once in this share of the hysteresis time. */
const RECENT_SHARE = 10;
/** How much longer than the hysteresis time an upstream with a chain that was refused does not lead, at most. */
const MAX_BAR = 12;
/** How long one that named a block beyond our limits is passed over. No lie, but each may hold us up as long as a block may take. */
const TOO_HARD = { firstMs: 60_000, maxMs: 3_600_000 };

/**
 * Decides whose chain is the canonical one (B19). One upstream leads: its heads and reorgs are followed.
 * Another's head counts where it extends ours. Pure: events in, decisions out, and the time comes with them.
 */
export class Leader {
  readonly #hysteresisMs: number;
  readonly #heads: NamedHeads;
  /** Who named a chain that was refused, and for how long they should not lead. */
  readonly #bans: Bans;
  readonly #tooHard = new Bans(TOO_HARD);
  #ours: BlockRef;
  #leader: string | undefined;
  #startedAt: number | undefined;
  /** Since when the leader is below our head and nobody else has it. */
  #belowSince: number | undefined;

  constructor(upstreams: readonly string[], ours: BlockRef, { hysteresisMs }: LeaderOptions) {
    this.#hysteresisMs = hysteresisMs;
    this.#heads = new NamedHeads(upstreams);
    this.#bans = new Bans({ firstMs: hysteresisMs * 2, maxMs: hysteresisMs * MAX_BAR });
    this.#ours = ours;
  }

  get leader(): string | undefined {
    return this.#leader;
  }

  /** An upstream named its head; false when it is the one it named before. */
  named({ upstream, ...head }: HeadEvent, now: number): boolean {
    if (head.hash === this.#ours.hash) this.#heads.of(upstream).failing = undefined;
    return this.#heads.take(upstream, head, now);
  }

  /** An upstream cannot be reached, until it names a head again. */
  lost(upstream: string, now: number): void {
    this.#heads.of(upstream).lostAt ??= now;
  }

  /** Our head is another one; what was left, if anything was, is not ours any more. */
  moved(ours: BlockRef, isReorganised: boolean): void {
    this.#ours = ours;
    if (isReorganised) this.#heads.forgetAnswers();
    // Whoever named it, it could be had.
    for (const named of this.#heads.all) {
      if ([named.head?.hash, named.failing?.hash].includes(ours.hash)) named.failing = undefined;
    }
  }

  /** An upstream does not give the blocks up to the head that it named, or nobody does. */
  failed({ upstream, hash }: HeadEvent, now: number): void {
    const named = this.#heads.of(upstream);
    named.failing = { since: named.failing?.since ?? now, hash };
  }

  /** An upstream's chain cannot be followed from ours. */
  refused(upstream: string, now: number): void {
    this.#bans.add(upstream, now);
  }

  /** A block of an upstream's chain cannot be executed within our limits. */
  overburdened(upstream: string, now: number): void {
    this.#tooHard.add(upstream, now);
  }

  /** What an upstream said about the block that was our head, or that it did not say: then it is taken not to have it. */
  answered(upstream: string, block: Hex, holds: boolean, now: number): void {
    const named = this.#heads.of(upstream);
    if (named.asked?.block === block) named.asked = { ...named.asked, holds, at: now };
  }

  /** The head that each upstream named last. */
  heads(): readonly HeadEvent[] {
    return this.#heads.all.flatMap(({ upstream, head }) =>
      head === undefined ? [] : [{ ...head, upstream }],
    );
  }

  /** Upstreams that name heads and may be listened to. */
  heard(now: number, out: ReadonlyMap<string, Exclusion>): readonly string[] {
    return this.#heads.all
      .filter((named) => this.#isHeard(named, { now, out }))
      .map(({ upstream }) => upstream);
  }

  decide(circumstances: Circumstances): Decision {
    this.#startedAt ??= circumstances.now;
    const moment = new Moment(circumstances);
    const change = this.#change(moment);
    const target = this.#target(moment);
    return { leader: this.#leader, change, target, ask: [...moment.ask], wakeMs: moment.wakeMs };
  }

  #change(moment: Moment): LeaderChange | undefined {
    const from = this.#leader;
    const reason = from === undefined ? 'nobody led' : this.#reasonAgainst(this.#heads.of(from), moment);
    if (reason === undefined) return undefined;
    const isOut = from !== undefined && moment.out.has(from);
    const to = this.#elect(moment, isOut || reason === 'nobody led' || reason === 'unreachable');
    // Badly led is better than not at all.
    if (to === from || (to === undefined && !isOut)) return undefined;
    this.#leader = to;
    this.#belowSince = undefined;
    return { from, to, reason };
  }

  #reasonAgainst(leader: NamedHead, moment: Moment): LeaderReason | undefined {
    const out = moment.out.get(leader.upstream);
    if (out !== undefined) return out;
    if (!this.#isReachable(leader, moment.now)) return 'unreachable';
    if (leader.lostAt !== undefined) moment.wakeAt(leader.lostAt + this.#hysteresisMs);
    if (this.#isBarred(leader.upstream, moment.now)) return 'refused';
    if (leader.failing !== undefined) {
      if (moment.isPast(leader.failing.since + this.#hysteresisMs)) return 'behind';
    }
    return this.#others(moment).some((other) => this.#isAhead(other, leader, moment)) ? 'behind' : undefined;
  }

  /**
   * Whether an upstream has been higher than the leader for the hysteresis time, on the leader's own chain or, where
   * the leader names nothing any more, on another. A leader that goes on, on another fork than somebody higher, leads.
   */
  #isAhead(other: NamedHead, leader: NamedHead, moment: Moment): boolean {
    const height = leader.head?.number ?? -1;
    const first = other.climb.find(({ number }) => number > height);
    if (first === undefined || !this.#isFit(other, moment)) return false;
    if (!moment.isPast(Math.max(first.at, leader.steppedAt) + this.#hysteresisMs)) return false;
    switch (this.#standing(other, moment)) {
      case 'holds':
      case 'under':
        return true;
      case 'unknown':
        return false;
      case 'apart': {
        const since = other.climb.filter(({ number, at }) => number > height && at > leader.headAt);
        return since.length >= STALLED_BLOCKS && moment.isPast(leader.headAt + this.#hysteresisMs);
      }
    }
  }

  /**
   * The best one to lead: one that is on our chain, then the highest, then the first in the list. In need, also one
   * that is not fit to: it may be by now.
   */
  #elect(moment: Moment, isNeeded: boolean): string | undefined {
    const { now, out } = moment;
    const silent = this.#heads.all.some(
      ({ upstream, head, lostAt }) => head === undefined && lostAt === undefined && !out.has(upstream),
    );
    // Whoever answers first at the start need not be the one to follow.
    if (silent && !moment.isPast((this.#startedAt ?? now) + this.#hysteresisMs)) return undefined;
    const others = this.#others(moment);
    const fit = others.filter((named) => this.#isFit(named, moment));
    const ranked = (fit.length > 0 || !isNeeded ? fit : others).map((named, place) => ({
      named,
      place,
      standing: this.#standing(named, moment),
    }));
    // Those who have yet to say are waited for, but not for long where somebody has our head for sure.
    const patienceMs = this.#hysteresisMs / RECENT_SHARE;
    const isKnown = ranked.some(({ standing }) => standing === 'holds');
    const unknown = ranked.filter(({ standing }) => standing === 'unknown');
    if (unknown.some(({ named }) => !isKnown || !moment.isPast((named.asked?.at ?? now) + patienceMs)))
      return undefined;
    const [best] = ranked.sort(
      (a, b) =>
        RANKS.indexOf(a.standing) - RANKS.indexOf(b.standing) ||
        (b.named.head?.number ?? 0) - (a.named.head?.number ?? 0) ||
        a.place - b.place,
    );
    return best?.named.upstream;
  }

  #target(moment: Moment): Target | undefined {
    const ours = this.#ours;
    const leader = this.#leader === undefined ? undefined : this.#heads.of(this.#leader);
    const head = leader?.head;
    if (leader === undefined || head === undefined) return undefined;
    if (head.number >= ours.number) this.#belowSince = undefined;
    const own = head.hash === ours.hash ? undefined : this.#ownTarget(leader, head, moment);
    if (own === undefined) return this.#extension(moment);
    if (leader.lostAt !== undefined) return this.#extension(moment) ?? own;
    // Not while others have what it lacks: each try takes its time.
    const isPassedOver =
      leader.failing?.hash === head.hash && this.#others(moment).some((named) => this.#isFit(named, moment));
    return isPassedOver ? this.#extension(moment) : own;
  }

  /** Where the leader's own head leads. */
  #ownTarget({ upstream }: NamedHead, head: UpstreamHead, moment: Moment): Target | undefined {
    const target = { ...head, upstream };
    if (head.number >= this.#ours.number) return { head: target, mode: 'follow' };
    const others = this.#heads.all.filter(
      (named) => named.upstream !== upstream && !moment.out.has(named.upstream),
    );
    const standings = this.#others(moment).map((named) => this.#standing(named, moment));
    if (standings.includes('holds')) {
      this.#belowSince = undefined;
      return undefined;
    }
    this.#belowSince ??= moment.now;
    if (standings.includes('unknown')) return undefined;
    if (moment.isPast(this.#belowSince + this.#hysteresisMs)) return { head: target, mode: 'back' };
    // A new fork, though lower, is a reorg; where nobody could object to it, there is nothing to wait for.
    const isFork = !moment.under.has(upstream);
    return isFork && others.length === 0 ? { head: target, mode: 'follow' } : undefined;
  }

  /**
   * The highest head of anybody that stands on ours, by the heads that were named between them. While the leader is away,
   * also by the word of who named it: whoever is polled, or has just come back, has not named them all.
   */
  #extension(moment: Moment): Target | undefined {
    const ours = this.#ours;
    const isLed = this.#leader !== undefined && this.#heads.of(this.#leader).lostAt === undefined;
    let best: Target | undefined;
    for (const named of this.#others(moment)) {
      const { head, upstream, failing } = named;
      // One that names what nobody has would be waited for again and again.
      if (head === undefined || failing !== undefined || this.#isBarred(upstream, moment.now)) continue;
      if (head.number <= (best?.head.number ?? ours.number)) continue;
      const standing = isLed ? this.#heads.linked(named, ours, moment.under) : this.#standing(named, moment);
      if (standing === 'holds') best = { head: { ...head, upstream }, mode: 'extend' };
    }
    return best;
  }

  /** How an upstream's chain stands to our head: by the heads named so far, or by its word, which is then asked for. */
  #standing(named: NamedHead, { now, under, ask }: Moment): Standing {
    const ours = this.#ours;
    const linked = this.#heads.linked(named, ours, under);
    if (linked !== 'unknown') return linked;
    const { asked } = named;
    const age = now - (asked?.at ?? Number.NEGATIVE_INFINITY);
    const isRecent = age < this.#hysteresisMs / RECENT_SHARE;
    // What stands on a block that it does not have, it does not have either. What it has may end where ours goes on.
    const isOfOurs = asked?.holds === false || asked?.block === ours.hash || isRecent;
    if (asked?.holds !== undefined && !asked.isStale && isOfOurs && age < this.#hysteresisMs) {
      return asked.holds ? 'holds' : 'apart';
    }
    const isPending = asked !== undefined && asked.holds === undefined;
    if (!isPending && !isRecent) {
      named.asked = { block: ours.hash, at: now, holds: undefined, isStale: false };
      ask.add(named.upstream);
    }
    return 'unknown';
  }

  /** Who else is heard. */
  #others(moment: Moment): readonly NamedHead[] {
    return this.#heads.all.filter((named) => named.upstream !== this.#leader && this.#isHeard(named, moment));
  }

  #isHeard(named: NamedHead, { now, out }: Pick<Circumstances, 'now' | 'out'>): boolean {
    return named.head !== undefined && !out.has(named.upstream) && this.#isReachable(named, now);
  }

  #isReachable({ lostAt }: NamedHead, now: number): boolean {
    return lostAt === undefined || now - lostAt < this.#hysteresisMs;
  }

  #isFit({ upstream, failing, lostAt }: NamedHead, { now }: Moment): boolean {
    return failing === undefined && lostAt === undefined && !this.#isBarred(upstream, now);
  }

  #isBarred(upstream: string, now: number): boolean {
    return this.#bans.outFor(upstream, now) > 0 || this.#tooHard.outFor(upstream, now) > 0;
  }
}
