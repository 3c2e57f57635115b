import { timestampOf } from '../chain/header-time.ts';
import type { PublishToFeed } from '../feed/interface.ts';
import { type BlockSpan, blocksIn } from '../primitives/block-span.ts';
import type { Hex } from '../primitives/hex.ts';
import type { BlockTime } from '../store/block-time.ts';
import { headerAt } from '../store/canonical-header.ts';
import type { Store } from '../store/interface.ts';
import type { ObserveFollowing } from './events.ts';

export interface PruningOptions {
  /** History that is kept; undefined keeps all. */
  readonly history: BlockSpan | undefined;
  /** Rows deleted after each block, at most. */
  readonly pruneRows: number;
}

export interface PruningModules {
  readonly store: Pick<Store, 'marks' | 'prune' | 'undoFloor' | 'canonicalHash' | 'header'>;
  readonly blockTime: Pick<BlockTime, 'ms'>;
  readonly publish: PublishToFeed;
  readonly observe: ObserveFollowing;
}

/** The history kept is passed in so many steps: at most this share more than asked for is held. */
const PRUNE_STEPS = 8;

/** Looks after the lower end of a copy: deletes what is too old, a little at a time, and sees what another process adds. */
export class Pruning {
  readonly #options: PruningOptions;
  readonly #modules: PruningModules;
  /** Whether rows of the last step are left to delete. */
  #isUnderWay = true;
  #lowest: Hex | undefined;

  constructor(options: PruningOptions, modules: PruningModules) {
    this.#options = options;
    this.#modules = modules;
  }

  async step(): Promise<void> {
    await this.#noticeHistory();
    await this.#prune();
  }

  /** What another process has added below, a backfill, is served from now on. */
  async #noticeHistory(): Promise<void> {
    const marks = await this.#modules.store.marks();
    const before = this.#lowest;
    this.#lowest = marks?.lowest.hash;
    if (marks === undefined || before === undefined || before === this.#lowest) return;
    void this.#modules.publish({ kind: 'marked' });
  }

  async #prune(): Promise<void> {
    const { store, observe } = this.#modules;
    const { history, pruneRows } = this.#options;
    const marks = await store.marks();
    if (history === undefined || marks === undefined) return;
    const { lowest, head } = marks;
    const kept = blocksIn(history, await this.#modules.blockTime.ms(head.number, lowest.number));
    const below = Math.min(head.number - kept, (await store.undoFloor()) ?? 0);
    // In large steps: each goes through all of the state, a few rows after each block.
    const step = Math.max(1, Math.floor(kept / PRUNE_STEPS));
    const isDue = !this.#isUnderWay && below >= lowest.number + step;
    if (isDue && (await this.#isOlder(below, head.number, history.ms))) {
      observe({ kind: 'pruned', below });
      this.#isUnderWay = await store.prune(below, pruneRows);
    } else if (this.#isUnderWay && below >= lowest.number) {
      this.#isUnderWay = await store.prune(lowest.number, pruneRows);
    }
  }

  /** Whether a block is so much older than the head: blocks may have come faster or slower than they do now. */
  async #isOlder(number: number, head: number, ms: number): Promise<boolean> {
    if (ms === 0) return true;
    const { store } = this.#modules;
    const [then, now] = [await headerAt(store, number), await headerAt(store, head)].map(timestampOf);
    return 1_000 * ((now ?? 0) - (then ?? 0)) >= ms;
  }
}
