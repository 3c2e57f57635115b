import { deepStrictEqual, notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Hex } from '../../../src/primitives/hex.ts';
import { type Decision, Leader } from '../../../src/source/heads/leader.ts';
import type { Exclusion } from '../../../src/source/heads/leader-moment.ts';

/** For tests only: what the leader in this world is given. */
export const HYSTERESIS = 1_000;
const START = 20;

interface Block {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
}

/** For tests only: an upstream, and what it said. */
export interface Peer {
  readonly name: string;
  tip: Block;
  /** What it named, with times. */
  readonly said: { readonly block: Block; readonly at: number }[];
  lostAt: number | undefined;
  refusedAt: number | undefined;
  failingSince: number | undefined;
}

/**
 * For tests only: upstreams on a tree of blocks, which knows who descends from whom. Every decision is held against
 * what B19 forbids.
 */
export class LeaderWorld {
  readonly tree = new Map<Hex, Block>();
  readonly peers: readonly Peer[];
  readonly leader: Leader;
  readonly out = new Map<string, Exclusion>();
  readonly log: string[] = [];
  now = 1_000_000;
  ours: Block;
  movedAt = 0;
  /** Whether upstreams take their time to say what they are asked. */
  isSilent = false;
  /** What they will say: as it was when they were asked. */
  readonly owed: { readonly name: string; readonly block: Hex; readonly holds: boolean }[] = [];
  /** Since when the leader is below our head. */
  belowSince: number | undefined;
  #names = 0;

  constructor(count: number) {
    let tip = this.#add(0, '0x');
    for (let number = 1; number <= START; number++) tip = this.#add(number, tip.hash);
    this.ours = tip;
    this.peers = ['a', 'b', 'c'].slice(0, count).map((name) => ({
      name,
      tip,
      said: [],
      lostAt: undefined,
      refusedAt: undefined,
      failingSince: undefined,
    }));
    const names = this.peers.map(({ name }) => name);
    this.leader = new Leader(names, this.ours, { hysteresisMs: HYSTERESIS });
  }

  #add(number: number, parentHash: Hex): Block {
    const block = { number, hash: `0x${number}.${this.#names++}` as const, parentHash };
    this.tree.set(block.hash, block);
    return block;
  }

  below(block: Block, steps: number): Block {
    let at = block;
    for (let left = steps; left > 0; left--) at = this.tree.get(at.parentHash) ?? at;
    return at;
  }

  descends(block: Block, from: Block): boolean {
    return block.number >= from.number && this.below(block, block.number - from.number).hash === from.hash;
  }

  grow(peer: Peer, blocks: number): void {
    for (let left = blocks; left > 0; left--) peer.tip = this.#add(peer.tip.number + 1, peer.tip.hash);
  }

  say(peer: Peer): void {
    const { name, tip } = peer;
    peer.lostAt = undefined;
    if (tip.hash === this.ours.hash) peer.failingSince = undefined;
    if (peer.said.at(-1)?.block.hash !== tip.hash) peer.said.push({ block: tip, at: this.now });
    this.leader.named({ ...tip, upstream: name }, this.now);
  }

  /** Decides, holds the decision against the rules, and says everything that was asked for. */
  decide(): Decision {
    for (let asked = 0; ; asked++) {
      const before = this.leader.leader;
      const under = new Set(
        this.leader
          .heads()
          .filter((head) => head.number < this.ours.number && this.descends(this.ours, head))
          .map(({ upstream }) => upstream),
      );
      const decision = this.leader.decide({ now: this.now, out: this.out, under });
      this.log.push(`${this.now} ours ${this.ours.hash} ${JSON.stringify(decision)}`);
      this.#check(decision, before);
      for (const name of decision.ask) {
        const { block } = this.peer(name).said.at(-1) ?? { block: this.ours };
        this.owed.push({ name, block: this.ours.hash, holds: this.descends(block, this.ours) });
      }
      if (this.isSilent) return decision;
      for (const { name, block, holds } of this.owed.splice(0)) {
        this.leader.answered(name, block, holds, this.now);
      }
      if (decision.ask.length === 0 || asked > 5) return decision;
    }
  }

  peer(name: string): Peer {
    const found = this.peers.find((peer) => peer.name === name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  }

  /** Goes there, or cannot. */
  act({ target }: Decision, outcome: 'go' | 'fail' | 'refuse'): void {
    if (target === undefined) return;
    const { head, mode } = target;
    const peer = this.peer(head.upstream);
    if (outcome === 'fail') {
      peer.failingSince ??= this.now;
      this.leader.failed(head, this.now);
    } else if (outcome === 'refuse' && mode !== 'extend') {
      peer.refusedAt = this.now;
      this.leader.refused(head.upstream, this.now);
    } else {
      const before = this.ours;
      this.ours = this.tree.get(head.hash) ?? before;
      this.movedAt = this.now;
      for (const each of this.peers) {
        if (each.said.at(-1)?.block.hash === head.hash) each.failingSince = undefined;
      }
      this.leader.moved(this.ours, !this.descends(this.ours, before));
    }
  }

  #isHeard({ name, said, lostAt }: Peer): boolean {
    const isGone = lostAt !== undefined && this.now - lostAt >= HYSTERESIS;
    return said.length > 0 && !this.out.has(name) && !isGone;
  }

  #check({ leader, change, target }: Decision, before: string | undefined): void {
    const why = this.log.slice(-12).join('\n');
    ok(leader === undefined || !this.out.has(leader), `an excluded one leads: ${why}`);
    if (change === undefined) strictEqual(leader, before, `a change that was not told: ${why}`);
    else this.#checkChange(change, before, why);
    const head = leader === undefined ? undefined : this.peer(leader).said.at(-1)?.block;
    const isBelow = head !== undefined && head.number < this.ours.number;
    this.belowSince =
      isBelow && change === undefined ? (this.belowSince ?? this.now) : isBelow ? this.now : undefined;
    if (target === undefined) return;
    const block = this.tree.get(target.head.hash);
    if (target.mode === 'extend') {
      ok(!this.out.has(target.head.upstream), why);
      ok(block !== undefined && block.hash !== this.ours.hash && this.descends(block, this.ours), why);
      return;
    }
    strictEqual(target.head.upstream, leader, `not the leader's: ${why}`);
    strictEqual(target.head.hash, head?.hash, `not its head: ${why}`);
    if (!isBelow) return;
    const others = this.peers.filter(({ name }) => name !== leader && !this.out.has(name));
    if (target.mode === 'follow')
      deepStrictEqual(others, [], `back at once, and others could object: ${why}`);
    else {
      ok(this.now - (this.belowSince ?? this.now) >= HYSTERESIS, `back too early: ${why}`);
    }
    const holders = others.filter(
      (peer) =>
        this.#isHeard(peer) &&
        this.descends(peer.said.at(-1)?.block ?? this.tree.get('0x0.0') ?? this.ours, this.ours),
    );
    deepStrictEqual(
      holders.map(({ name }) => name),
      [],
      `back, and others have our head: ${why}`,
    );
  }

  #checkChange(change: NonNullable<Decision['change']>, before: string | undefined, why: string): void {
    strictEqual(change.from, before, why);
    notStrictEqual(change.to, before, why);
    if (change.from === undefined) {
      strictEqual(change.reason, 'nobody led', why);
      return;
    }
    const from = this.peer(change.from);
    const height = from.said.at(-1)?.block.number ?? 0;
    const long = (since: number | undefined): boolean =>
      since !== undefined && this.now - since >= HYSTERESIS;
    switch (change.reason) {
      case 'caught lying':
      case 'of another chain':
        strictEqual(this.out.get(change.from), change.reason, why);
        break;
      case 'unreachable':
        ok(long(from.lostAt), why);
        break;
      case 'refused':
        ok(from.refusedAt !== undefined, why);
        break;
      case 'behind': {
        const isPassed = this.peers.some(
          (peer) =>
            peer !== from &&
            this.#isHeard(peer) &&
            peer.said.some(({ block, at }) => block.number > height && long(at)),
        );
        ok(isPassed || long(from.failingSince), why);
        // What an upstream said about our head is believed for a moment longer than that is our head.
        const isJustMoved = this.now - this.movedAt < HYSTERESIS / 10;
        if (long(from.failingSince) || long(from.said.at(-1)?.at) || isJustMoved) break;
        const isOnOurs = ({ block }: Peer['said'][number]): boolean =>
          this.descends(block, this.ours) || this.descends(this.ours, block);
        const isSameChain = this.peers.some((peer) => peer !== from && peer.said.slice(-1).some(isOnOurs));
        ok(isSameChain, `one that goes on was deposed for another fork: ${why}`);
        break;
      }
      case 'nobody led':
        ok(false, why);
    }
  }
}
