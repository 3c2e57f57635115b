import type { PublishToFeed } from '../feed/interface.ts';
import type { Hex } from '../primitives/hex.ts';
import type { Store } from '../store/interface.ts';
import type { ObserveFollowing } from './events.ts';

export interface PruningOptions {
  /** Blocks of history that are kept; undefined keeps all. */
  readonly history: number | undefined;
  /** Blocks that can be taken off the head. */
  readonly undoWindow: number;
  /** Rows deleted after each block, at most. */
  readonly pruneRows: number;
}

export interface PruningModules {
  readonly store: Pick<Store, 'marks' | 'prune'>;
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
    const { history, undoWindow, pruneRows } = this.#options;
    const marks = await store.marks();
    if (history === undefined || marks === undefined) return;
    const kept = Math.max(history, undoWindow);
    const below = marks.head.number - kept;
    // In large steps: each goes through all of the state, a few rows after each block.
    const step = Math.max(1, Math.floor(kept / PRUNE_STEPS));
    if (!this.#isUnderWay && below >= marks.lowest.number + step) {
      observe({ kind: 'pruned', below });
      this.#isUnderWay = await store.prune(below, pruneRows);
    } else if (this.#isUnderWay && below >= marks.lowest.number) {
      this.#isUnderWay = await store.prune(marks.lowest.number, pruneRows);
    }
  }
}
