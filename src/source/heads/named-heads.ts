import { LRUCache } from 'lru-cache';
import type { BlockRef } from '../../chain/outcome.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { UpstreamHead } from '../interface.ts';

/** Heads whose parents are remembered; upstreams are never this far apart and still of use. */
const LINKS = 1_024;
/** Links that are gone down, however many an upstream has named. */
const STEPS = 256;
/** Heights of one upstream that are remembered with their times. */
const CLIMB = 1_024;

/** What an upstream named, and what came of it. Times are those of the clock of whoever tells. */
export interface NamedHead {
  readonly upstream: string;
  head: UpstreamHead | undefined;
  /** When it first named its head. */
  headAt: number;
  /** When it last named one that is not above the one before. */
  steppedAt: number;
  /** Heights that it has reached, ascending, and when. */
  climb: { readonly number: number; readonly at: number }[];
  /** Since when it cannot be reached. */
  lostAt: number | undefined;
  /** Since when the heads that it names cannot be had, and the last of those. */
  failing: { readonly since: number; readonly hash: Hex } | undefined;
  asked: Inquiry | undefined;
}

/** What an upstream said when it was asked whether a block of ours is on its chain. */
interface Inquiry {
  readonly block: Hex;
  /** When it was asked, then when it answered. */
  readonly at: number;
  /** Undefined until it has said so. */
  readonly holds: boolean | undefined;
  /** It has gone on since to a head that need not stand on the one it had then. */
  readonly isStale: boolean;
}

/** How a chain stands to our head: it `holds` it, ends `under` it, or is `apart` from ours. */
export type Standing = 'holds' | 'under' | 'apart' | 'unknown';

/** What every upstream named last, and how those heads hang together. */
export class NamedHeads {
  readonly all: readonly NamedHead[];
  readonly #links = new LRUCache<Hex, UpstreamHead>({ max: LINKS });

  constructor(upstreams: readonly string[]) {
    this.all = upstreams.map((upstream) => ({
      upstream,
      head: undefined,
      headAt: 0,
      steppedAt: 0,
      climb: [],
      lostAt: undefined,
      failing: undefined,
      asked: undefined,
    }));
  }

  of(upstream: string): NamedHead {
    const found = this.all.find((named) => named.upstream === upstream);
    if (found === undefined) throw new Error(`no upstream ${upstream}`);
    return found;
  }

  /** Takes a head; false when it is the one named before. */
  take(upstream: string, head: UpstreamHead, now: number): boolean {
    const named = this.of(upstream);
    named.lostAt = undefined;
    // By its number too: one that was named under a false number is another, and must not hide the true one.
    if (named.head?.hash === head.hash && named.head.number === head.number) return false;
    if (named.head !== undefined && head.number <= named.head.number) {
      named.steppedAt = now;
      named.climb = named.climb.filter(({ number }) => number < head.number);
    }
    if (named.asked !== undefined && head.parentHash !== named.head?.hash) {
      named.asked = { ...named.asked, isStale: true };
    }
    named.climb.push({ number: head.number, at: now });
    // Later than it was is on the safe side: nobody is deposed too early.
    if (named.climb.length > CLIMB) named.climb.splice(1, 1);
    named.head = head;
    named.headAt = now;
    this.#links.set(head.hash, head);
    return true;
  }

  /** How the head that an upstream named stands to `ours`, as far as the heads named so far tell. */
  linked(named: NamedHead, ours: BlockRef, under: ReadonlySet<string>): Standing {
    let at = named.head;
    if (at === undefined) return 'apart';
    if (at.number < ours.number) return under.has(named.upstream) ? 'under' : 'apart';
    for (let steps = 0; at !== undefined && steps < STEPS; steps++) {
      if (at.number === ours.number) return at.hash === ours.hash ? 'holds' : 'apart';
      if (at.number === ours.number + 1) return at.parentHash === ours.hash ? 'holds' : 'apart';
      const below: UpstreamHead | undefined = this.#links.get(at.parentHash);
      // A head that is not one above its parent is not to be reasoned about.
      at = below?.number === at.number - 1 ? below : undefined;
    }
    return 'unknown';
  }

  /** Forgets what was said about blocks that are not ours any more. */
  forgetAnswers(): void {
    for (const named of this.all) named.asked = undefined;
  }
}
