import { setTimeout as delay } from 'node:timers/promises';
import type { BlockRef } from '../chain/outcome.ts';
import type { NativeExecutor } from '../executor/native-executor.ts';
import type { PublishToFeed } from '../feed/interface.ts';
import type { Hex } from '../primitives/hex.ts';
import { type BackOff, fullBackOffMs } from '../source/clock.ts';
import { SourceError } from '../source/errors.ts';
import type { ChainSource, Head } from '../source/interface.ts';
import { StoreError } from '../store/error.ts';
import type { Store } from '../store/interface.ts';
import { type AnchorChoice, readAnchor } from './anchor.ts';
import { BlockReader } from './block-reader.ts';
import { expectChainId } from './chain-rules.ts';
import type { ObserveFollowing } from './follow-events.ts';
import { FalseCopyError, Follower, type FollowerOptions, TooDeepError } from './follower.ts';
import type { PinnedState } from './pinned-state.ts';
import { restoreHotState } from './restore.ts';
import { untilReachable } from './retry.ts';
import type { StateReader } from './state-reader.ts';

export interface FollowingOptions extends FollowerOptions {
  readonly anchor: AnchorChoice;
  /** Whether a copy that cannot go on may begin anew, without what it held. */
  readonly reanchor: boolean;
  /** Blocks of history that are kept; undefined keeps all. */
  readonly history: number | undefined;
  /** Rows deleted after each block, at most. */
  readonly pruneRows: number;
  /** Pause between looks at what the chain calls safe and final. */
  readonly finalityMs: number;
  readonly retry: BackOff;
}

export interface FollowingModules {
  readonly store: Store;
  readonly executor: NativeExecutor;
  readonly source: ChainSource;
  readonly state: PinnedState;
  readonly prove: StateReader;
  readonly publish: PublishToFeed;
  readonly observe: ObserveFollowing;
}

/** The history kept is passed in so many steps: at most this share more than asked for is held. */
const PRUNE_STEPS = 8;
/** Failures in a row after which a copy that cannot go on begins anew. */
const HOPELESS_AFTER = 3;

/** Keeps a copy at the head of a live chain: tries again for as long as it takes, and says what is in the way. */
export class Following {
  readonly #options: FollowingOptions;
  readonly #modules: FollowingModules;
  readonly #blocks: BlockReader;
  readonly #follower: Follower;
  #target: Head | undefined;
  /** The newest head that each upstream named. */
  readonly #named = new Map<string, Head>();
  #trouble: string | undefined;
  #wake = Promise.withResolvers<void>();
  /** Whether rows of the last step are left to delete. */
  #pruning = true;
  #lowest: Hex | undefined;

  constructor(options: FollowingOptions, modules: FollowingModules) {
    this.#options = options;
    this.#modules = modules;
    this.#blocks = new BlockReader(modules);
    this.#follower = new Follower(options, { ...modules, blocks: this.#blocks });
  }

  /** What keeps the copy from the newest head that an upstream named; undefined when nothing does. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** The newest head that an upstream named. */
  get target(): BlockRef | undefined {
    return this.#target;
  }

  /** Goes on where the store ends, or begins a copy; waits for an upstream as long as it takes. */
  async begin(signal: AbortSignal): Promise<void> {
    const { store, executor } = this.#modules;
    if ((await store.marks()) !== undefined) {
      return restoreHotState(executor, store, this.#options.undoWindow);
    }
    await untilReachable(() => this.#anchor('the store was empty', signal), {
      signal,
      retry: this.#options.retry,
      onFailure: (error, retryMs) => this.#modules.observe({ kind: 'trouble', error, retryMs }),
    });
  }

  /** Follows until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#listen(signal), this.#chase(signal), this.#watchFinality(signal)]);
  }

  async #chase(signal: AbortSignal): Promise<void> {
    const { source, executor } = this.#modules;
    const over = aborted(signal);
    let isRightChain = false;
    let failures = 0;
    while (!signal.aborted) {
      const target = this.#target;
      try {
        const news = this.#wake.promise;
        if (!isRightChain) await expectChainId(source, executor.chainId, signal);
        isRightChain = true;
        if (target !== undefined) await this.#follower.moveTo(target, signal);
        failures = 0;
        this.#trouble = await this.#otherChain();
        await this.#noticeHistory();
        await this.#prune();
        await Promise.race([news, over, delay(this.#options.finalityMs, undefined, { ref: false })]);
      } catch (error) {
        if (signal.aborted) break;
        failures++;
        await this.#rest(error, failures, signal);
        if (error instanceof SourceError && error.type.code === 'unknownBlock') this.#turnFrom(target);
        if (failures >= HOPELESS_AFTER) await this.#beginAnew(error, signal);
      }
    }
  }

  async #listen(signal: AbortSignal): Promise<void> {
    for await (const head of this.#modules.source.heads(signal)) {
      this.#target = head;
      this.#named.set(head.upstream, head);
      const { resolve } = this.#wake;
      this.#wake = Promise.withResolvers();
      resolve();
    }
  }

  /** What to say when every upstream is where none of our blocks can be compared with theirs. */
  async #otherChain(): Promise<string | undefined> {
    const lowest = (await this.#modules.store.marks())?.lowest.number ?? 0;
    const heads = [...this.#named.values()].map(({ number }) => number);
    if (heads.length === 0 || heads.some((number) => number >= lowest)) return undefined;
    return `every upstream is below block ${lowest}, the first one held: it lags, or its chain began anew`;
  }

  /** A head that nobody gives the block of must not keep us from the one that another upstream named. */
  #turnFrom(target: Head | undefined): void {
    for (const [upstream, { hash }] of this.#named) if (hash === target?.hash) this.#named.delete(upstream);
    if (this.#target !== target) return;
    const [best] = [...this.#named.values()].sort((a, b) => b.number - a.number);
    this.#target = best ?? target;
  }

  /** Beside the blocks, and not between them: an upstream that takes its time must not hold them up. */
  async #watchFinality(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#markFinality(signal);
      await delay(this.#options.finalityMs, undefined, { signal }).catch(() => {});
    }
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
    if (!this.#pruning && below >= marks.lowest.number + step) {
      observe({ kind: 'pruned', below });
      this.#pruning = await store.prune(below, pruneRows);
    } else if (this.#pruning && below >= marks.lowest.number) {
      this.#pruning = await store.prune(marks.lowest.number, pruneRows);
    }
  }

  /** Takes over what is on our chain; the rest, and an upstream that does not say, is looked at again later. */
  async #markFinality(signal: AbortSignal): Promise<void> {
    const { store, source, publish } = this.#modules;
    const finality = await source.finality({ signal }).then(
      ({ value }) => value,
      (error: unknown) => {
        if (error instanceof SourceError || signal.aborted) return undefined;
        throw error;
      },
    );
    const before = await store.marks();
    if (finality === undefined) return;
    const held: { safe?: BlockRef; finalized?: BlockRef } = {};
    for (const name of ['safe', 'finalized'] as const) {
      const ref = finality[name];
      if (ref === undefined || before?.[name]?.hash === ref.hash) continue;
      if ((await store.canonicalHash(ref.number)) === ref.hash) held[name] = ref;
    }
    if (before === undefined || Object.keys(held).length === 0) return;
    try {
      await store.mark(held);
    } catch (error) {
      // Taken off the chain since it was looked up: the next look will tell.
      if (error instanceof StoreError && error.code === 'conflict') return;
      throw error;
    }
    void publish({ kind: 'marked' });
  }

  /** Begins at another anchor where nothing else helps. */
  async #beginAnew(problem: unknown, signal: AbortSignal): Promise<void> {
    const pruned = problem instanceof SourceError && problem.type.code === 'stateUnavailable';
    const hopeless = problem instanceof TooDeepError || problem instanceof FalseCopyError || pruned;
    const marks = await this.#modules.store.marks();
    // History below the anchor took long to fetch: it is not thrown away without being asked.
    const holdsHistory = marks !== undefined && marks.lowest.number < marks.anchor.number;
    if (!hopeless || !this.#options.reanchor || holdsHistory) return;
    const reason = pruned ? 'no upstream has the state of our head any more' : (problem as Error).message;
    await this.#anchor(reason, signal).catch((failure: unknown) => this.#rest(failure, 1, signal));
  }

  /** Begins a copy; what another one held is forgotten only once there is a block to begin with. */
  async #anchor(reason: string, signal: AbortSignal): Promise<void> {
    const { store, executor, source, state, publish, observe } = this.#modules;
    const outcome = await readAnchor(this.#options.anchor, { source, blocks: this.#blocks }, signal);
    await store.reset();
    state.reset();
    await store.append([outcome], { partial: true });
    executor.open(outcome.header);
    const anchor = { number: outcome.number, hash: outcome.hash };
    void publish({ kind: 'anchored' });
    observe({ kind: 'anchored', anchor, reason });
    observe({ kind: 'moved', head: anchor });
  }

  /** Waits longer with each failure. */
  async #rest(problem: unknown, failures: number, signal: AbortSignal): Promise<void> {
    const retryMs = fullBackOffMs(this.#options.retry, failures);
    this.#trouble = problem instanceof Error ? problem.message : String(problem);
    this.#modules.observe({ kind: 'trouble', error: problem, retryMs });
    await delay(retryMs, undefined, { signal }).catch(() => {});
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
