import type { BlockRef, Outcome } from '../chain/outcome.ts';
import type { NativeExecutor } from '../executor/native-executor.ts';
import type { PublishToFeed } from '../feed/interface.ts';
import type { BackOff } from '../source/clock.ts';
import { mostTelling, SourceError } from '../source/errors.ts';
import type { ChainSource } from '../source/interface.ts';
import type { Store } from '../store/interface.ts';
import type { BlockReader, ReadBlock } from './blocks/reader.ts';
import { FinalizedError, TooDeepError } from './errors.ts';
import type { ObserveFollowing } from './events.ts';
import { untilReachable } from './retry.ts';
import type { PinnedState } from './state/pinned-state.ts';
import { restoreHotState } from './state/restore.ts';

/** Where a copy begins: a tag or a number of the upstream's chain. */
export type AnchorChoice = 'latest' | 'safe' | 'finalized' | number;

export interface AnchoringOptions {
  readonly anchor: AnchorChoice;
  /** Blocks whose changes are kept in memory. */
  readonly hotWindow: number;
  readonly retry: BackOff;
}

export interface AnchoringModules {
  readonly store: Store;
  readonly executor: Pick<NativeExecutor, 'open' | 'apply' | 'expectKnown'>;
  readonly source: Pick<ChainSource, 'head' | 'heads' | 'finality' | 'hashAt'>;
  readonly blocks: Pick<BlockReader, 'byHash' | 'byNumber' | 'outcomeOf'>;
  readonly state: Pick<PinnedState, 'replace'>;
  readonly publish: PublishToFeed;
  readonly observe: ObserveFollowing;
}

/** Has copies begin: one that is there where it ended, a new one at a block of the chain. */
export class Anchoring {
  readonly #options: AnchoringOptions;
  readonly #modules: AnchoringModules;

  constructor(options: AnchoringOptions, modules: AnchoringModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Goes on where the store ends, or begins a copy; waits for an upstream as long as it takes. */
  async begin(signal: AbortSignal): Promise<void> {
    const { store, executor, observe } = this.#modules;
    const { anchor, retry, hotWindow } = this.#options;
    if ((await store.marks()) !== undefined) {
      await restoreHotState(executor, store, hotWindow);
      return;
    }
    const begin = async (): Promise<void> =>
      this.#anchor(await this.#readHighest(anchor, signal), 'the store was empty');
    const onFailure = (error: Error, retryMs: number): void => observe({ kind: 'trouble', error, retryMs });
    await untilReachable(begin, { signal, retry, onFailure });
  }

  /**
   * Puts a new copy, which begins with a block of an upstream, in the place of the one there is, in one step. False
   * where that one has history from below its anchor, which took long to fetch. Throws `UnfollowableError` when the
   * upstream's chain is not the one of which a part is final here or, with `mustContinue`, not ours.
   */
  async reanchor(
    reason: string,
    { upstream, mustContinue }: { readonly upstream: string; readonly mustContinue: boolean },
    signal: AbortSignal,
  ): Promise<boolean> {
    const marks = await this.#modules.store.marks();
    if (marks === undefined || marks.lowest.number < marks.anchor.number) return false;
    const { anchor } = this.#options;
    // Where it was told to begin by number, it has been, and could not go on.
    const outcome = await this.#read(typeof anchor === 'number' ? 'latest' : anchor, upstream, signal);
    const { finalized, head } = marks;
    const isShared = async ({ number, hash }: BlockRef): Promise<boolean> =>
      number <= outcome.number &&
      (await this.#modules.source.hashAt(number, { signal, only: upstream }))?.value === hash;
    if (finalized !== undefined && !(await isShared(finalized))) {
      throw new FinalizedError(
        `block ${finalized.number} is final here, and not on the chain of ${upstream}: the copy stays`,
      );
    }
    if (mustContinue && !(await isShared(head))) {
      throw new TooDeepError(`block ${head.number} is not on the chain of ${upstream}: the copy stays`);
    }
    await this.#anchor(outcome, reason);
    return true;
  }

  /** From the upstream that is furthest, or the next one if that does not give what it named. */
  async #readHighest(choice: AnchorChoice, signal: AbortSignal): Promise<Outcome> {
    const heads = await this.#modules.source.heads({ signal });
    const failures: SourceError[] = [];
    for (const { upstream } of heads.toSorted((a, b) => b.value.number - a.value.number)) {
      try {
        return await this.#read(choice, upstream, signal);
      } catch (error) {
        if (!(error instanceof SourceError)) throw error;
        failures.push(error);
      }
    }
    throw mostTelling(failures);
  }

  /** The block that a copy begins with, and its receipts; none of its state is known yet. */
  async #read(choice: AnchorChoice, upstream: string, signal: AbortSignal): Promise<Outcome> {
    const block = await this.#chosen(choice, upstream, signal);
    return this.#modules.blocks.outcomeOf(block, { signal, prefer: block.upstream });
  }

  async #chosen(choice: AnchorChoice, only: string, signal: AbortSignal): Promise<ReadBlock> {
    const { source, blocks } = this.#modules;
    if (typeof choice === 'number') return blocks.byNumber(choice, { signal, only });
    if (choice === 'latest') {
      const { value } = await source.head({ signal, only });
      return blocks.byHash(value.hash, { signal, prefer: only });
    }
    const { value } = await source.finality({ signal, only });
    const ref = value[choice];
    if (ref === undefined) throw new Error(`the chain has no ${choice} block to begin at`);
    return blocks.byHash(ref.hash, { signal, prefer: only });
  }

  async #anchor(outcome: Outcome, reason: string): Promise<void> {
    const { store, executor, state, publish, observe } = this.#modules;
    // Nothing after it could be executed.
    executor.expectKnown(outcome.header);
    await state.replace(() => store.append([outcome], { reanchor: true, partial: true }));
    executor.open(outcome.header);
    const anchor = { number: outcome.number, hash: outcome.hash };
    void publish({ kind: 'anchored' });
    observe({ kind: 'anchored', anchor, reason });
    observe({ kind: 'moved', head: anchor });
  }
}
