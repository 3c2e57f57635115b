import type { BlockRef, EncodedOutcome } from '../chain/outcome.ts';
import { describeKey } from '../chain/state-key.ts';
import { InvalidBlockError } from '../executor/errors.ts';
import type { Promotion } from '../executor/interface.ts';
import type { BlockLoader, NativeExecutor } from '../executor/native-executor.ts';
import type { PublishToFeed } from '../feed/interface.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import type { Hex } from '../primitives/hex.ts';
import { SourceError } from '../source/errors.ts';
import type { ChainSource, Head } from '../source/interface.ts';
import type { Marks, Store } from '../store/interface.ts';
import type { BlockReader, ReadBlock } from './block-reader.ts';
import type { ObserveFollowing } from './follow-events.ts';
import { type PinnedState, Trial } from './pinned-state.ts';
import { prestateTrace } from './prestate.ts';
import { removedBlocks } from './removed-blocks.ts';
import { restoreHotState } from './restore.ts';
import { slotsAhead } from './slots-ahead.ts';
import type { StateReader } from './state-reader.ts';

export interface FollowerOptions {
  /** Blocks that can be taken off the head. */
  readonly undoWindow: number;
  /** Blocks fetched at the same time, and written together, while catching up. */
  readonly catchUpBlocks: number;
  /** Whether state is read by proof, so that a trace of a block is of no use. */
  readonly verifyState: boolean;
}

export interface FollowerModules {
  readonly store: Store;
  readonly executor: NativeExecutor;
  readonly source: Pick<ChainSource, 'prestate' | 'report'>;
  readonly blocks: BlockReader;
  readonly state: PinnedState;
  /** Reads what the chain really has, with a proof of it. */
  readonly prove: StateReader;
  readonly publish: PublishToFeed;
  readonly observe: ObserveFollowing;
}

/** The upstream's chain and ours part below what we can take off: the copy must begin anew. */
export class TooDeepError extends Error {
  override readonly name = 'TooDeepError';
}

/** State that is held here is not the chain's, by a proof: an upstream lied when it was read. The copy must begin anew. */
export class FalseCopyError extends Error {
  override readonly name = 'FalseCopyError';
}

/**
 * Moves the copy to a new head: fetches what lies between, executes and verifies each block, and writes it. The
 * store changes from one fork to another in a single step, so that readers never see half of either.
 */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #modules: FollowerModules;

  /** Until one was wrong. */
  #usesTraces: boolean;
  /** Of the newest block. */
  #timestamp: number | undefined;
  /** The block that did not verify the last time. */
  #suspect: Hex | undefined;

  constructor(options: FollowerOptions, modules: FollowerModules) {
    this.#options = options;
    this.#usesTraces = !options.verifyState;
    this.#modules = modules;
  }

  /** Goes on until the block is part of the copy, or is found to be behind it. */
  async moveTo(target: Head, signal: AbortSignal): Promise<void> {
    const { blocks } = this.#modules;
    for (;;) {
      signal.throwIfAborted();
      const { lowest, head } = await this.#marks();
      // Of an upstream that lags, or whose chain began anew: nothing that could be compared with ours.
      if (target.number < lowest.number) return;
      if (target.number <= head.number && (await this.#isCanonical(target))) return;
      if (target.parentHash === head.hash) {
        const next = this.#promoteSealed(target) ?? (await blocks.byHash(target.hash, { signal }));
        await this.#extend(head, [next]);
      } else if (target.number > head.number + 1) {
        await this.#catchUp(head, target, signal);
      } else {
        await this.#switchTo(await blocks.byHash(target.hash, { signal }), signal);
      }
    }
  }

  /** Fetches some of the blocks between the head and the target by number, all at once. */
  async #catchUp(head: BlockRef, target: Head, signal: AbortSignal): Promise<void> {
    // Hot state must reach back to the last block written: what it lacks is read as of its oldest one.
    const last = Math.min(
      target.number,
      head.number + Math.min(this.#options.catchUpBlocks, this.#options.undoWindow),
    );
    const numbers = Array.from({ length: last - head.number }, (_, index) => head.number + 1 + index);
    const blocks = await Promise.all(
      numbers.map((number) => this.#modules.blocks.byNumber(number, { signal })),
    );
    const linked: ReadBlock[] = [];
    let parent: Hex = head.hash;
    for (const block of blocks) {
      if (block.parentHash !== parent) break;
      linked.push(block);
      parent = block.hash;
    }
    const [first] = blocks;
    if (linked.length > 0) await this.#extend(head, linked);
    else if (first !== undefined) await this.#switchTo(first, signal);
  }

  /** Goes to a block whose parent is not the head: back to where the two forks part, then up. */
  async #switchTo(tip: ReadBlock, signal: AbortSignal): Promise<void> {
    const { anchor, head } = await this.#marks();
    const fork = [tip];
    let lowest = tip;
    while (!(await this.#isCanonical({ number: lowest.number - 1, hash: lowest.parentHash }))) {
      const depth = head.number - (lowest.number - 1);
      if (lowest.number - 1 <= anchor.number || depth >= this.#options.undoWindow) {
        throw new TooDeepError(
          `the upstream's chain parts from ours below block ${lowest.number - 1}: deeper than ours can be taken back`,
        );
      }
      lowest = await this.#modules.blocks.byHash(lowest.parentHash, { signal });
      fork.unshift(lowest);
    }
    const base = { number: lowest.number - 1, hash: lowest.parentHash };
    await this.#extend(base, fork);
    this.#modules.observe({ kind: 'reorganised', depth: head.number - base.number, base });
  }

  /** Puts blocks on top of `base`, which is the head or becomes it. */
  async #extend(base: BlockRef, blocks: readonly (ReadBlock | EncodedOutcome)[]): Promise<void> {
    const { executor, state, store, publish } = this.#modules;
    const { head } = await this.#marks();
    const replaces = head.hash !== base.hash;
    const outcomes: EncodedOutcome[] = [];
    // Read while they are there: whoever was told of their logs has to be told that they are gone.
    const removed = replaces ? await removedBlocks(store, base.number + 1, head.number) : [];
    try {
      if (replaces) {
        // Pre-confirmed state stands on blocks that are about to leave hot state; the store still has the old fork.
        const version = executor.dropPreconfirmed(0);
        await publish({ kind: 'dropped', from: 0, reason: 'reorganised', version });
        executor.revertTo(base.number);
        state.readAt(base);
      }
      for (const block of blocks) outcomes.push('rlp' in block ? await this.#execute(block) : block);
      const pins = state.waiting();
      await store.append(outcomes, { pins, ...(replaces && { onto: base.number }) });
      state.written(pins);
    } catch (error) {
      // Hot state may be ahead of the store, on another fork, or hold what a liar said.
      await restoreHotState(executor, store, this.#options.undoWindow);
      throw error;
    } finally {
      state.readAt(undefined);
    }
    const added = outcomes.map((outcome) => ({
      number: outcome.number,
      hash: outcome.hash,
      outcome: outcome.encoded,
    }));
    void publish({ kind: 'confirmed', removed, added });
    this.#readAhead(outcomes);
    const { number, hash } = blocks.at(-1) ?? base;
    this.#modules.observe({ kind: 'moved', head: { number, hash } });
  }

  /** The outcome of a new head that is here already, by its hash: nobody is asked for the block, and nothing is executed. */
  #promoteSealed(target: BlockRef): EncodedOutcome | undefined {
    const started = performance.now();
    const outcome = this.#modules.executor.promoteSealed(target.hash);
    const transactions = outcome?.receipts.length;
    if (transactions === undefined) return undefined;
    const promotion = { outcome, preconfirmed: transactions, difference: undefined };
    this.#observePromotion(target, promotion, performance.now() - started);
    return outcome;
  }

  /** Has what the next blocks are sure to need read before they come. */
  #readAhead(outcomes: readonly EncodedOutcome[]): void {
    const last = outcomes.at(-1);
    const before = outcomes.at(-2)?.timestamp ?? this.#timestamp;
    this.#timestamp = last?.timestamp;
    // While catching up, the next block is here already.
    if (last === undefined || before === undefined || outcomes.length > 1) return;
    const keys = slotsAhead(last, last.timestamp - before);
    if (keys.length === 0) return;
    // Whoever needs it and does not find it asks again, and hears why it cannot be had.
    this.#modules.state.load(keys, last.number, last).catch(() => undefined);
  }

  /** Executes a block; what it was told by upstreams counts only if it verifies. */
  async #execute(block: ReadBlock): Promise<EncodedOutcome> {
    const { executor, source, state, observe } = this.#modules;
    const started = performance.now();
    let rounds = 0;
    const trace = this.#usesTraces ? prestateTrace(source, block.hash, block.upstream) : undefined;
    const trial = new Trial(block.upstream, trace);
    try {
      const load: BlockLoader = (keys, asOf) => {
        rounds++;
        return state.loadFor(trial, keys, asOf);
      };
      const promotion = await executor.promote(block.rlp, load);
      if (promotion.outcome !== undefined) {
        state.accept(trial);
        this.#observePromotion(block, promotion, performance.now() - started);
        return promotion.outcome;
      }
      const outcome = await executor.execute(block.rlp, load);
      state.accept(trial);
      this.#observePromotion(block, { ...promotion, outcome }, performance.now() - started);
      observe({
        kind: 'executed',
        block: { number: block.number, hash: block.hash },
        transactions: outcome.receipts.length,
        gasUsed: outcome.receipts.at(-1)?.cumulativeGasUsed ?? 0,
        rounds,
        ms: performance.now() - started,
      });
      return outcome;
    } catch (error) {
      if (error instanceof InvalidBlockError) await this.#blame(block, trial, error);
      throw error;
    }
  }

  #observePromotion(block: BlockRef, promotion: Promotion, ms: number): void {
    const { preconfirmed, difference, outcome } = promotion;
    if (preconfirmed === undefined) return;
    const first = difference?.in === 'transaction' ? (difference.transaction ?? 0) : 0;
    const kept = difference === undefined ? preconfirmed : Math.min(first, preconfirmed);
    const { number, hash } = block;
    const transactions = outcome?.receipts.length ?? 0;
    this.#modules.observe({ kind: 'sealed', block: { number, hash }, transactions, preconfirmed, kept, ms });
  }

  /**
   * The block's own parts fit its hash, so what it was executed on is false, or nobody ever built such a block. Those
   * who told us are kept out for a while, unless it was us: what requests were told is held, and was never checked.
   */
  async #blame(block: ReadBlock, trial: Trial, error: InvalidBlockError): Promise<void> {
    if (trial.usedTrace) {
      // Tracers differ in what they leave out: before anybody is called a liar, the block is tried without.
      this.#usesTraces = false;
      return;
    }
    if (this.#suspect !== block.hash) {
      // Hot state gave some of it unasked. It is empty the next time, and all that the block reads is seen.
      this.#suspect = block.hash;
      return;
    }
    await this.#expectTrue(trial);
    const liars = trial.sources.size > 0 ? trial.sources : [block.upstream];
    for (const liar of liars)
      this.#modules.source.report(liar, { item: block.hash, what: error.type.reason });
  }

  /** Throws when a proof shows that something is false that was held here before the block was read. */
  async #expectTrue({ held, prefer }: Trial): Promise<void> {
    const pins = [...held.values()].filter(({ key }) => key.kind === 'account' || key.kind === 'slot');
    const at = (await this.#marks()).head;
    const truths = await this.#modules
      .prove(
        pins.map(({ key }) => key),
        at,
        prefer,
      )
      .catch((failure: unknown) => {
        // Without proofs nobody can tell who is right.
        if (failure instanceof SourceError || failure instanceof StateUnavailableError) return [];
        throw failure;
      });
    for (const [index, { key, value }] of pins.entries()) {
      const truth = truths[index]?.value;
      if (truth === undefined || Buffer.compare(truth, value) === 0) continue;
      throw new FalseCopyError(
        `${describeKey(key)}, as it is held here, is proven false: an upstream lied when it was read for a request`,
      );
    }
  }

  async #isCanonical({ number, hash }: BlockRef): Promise<boolean> {
    return (await this.#modules.store.canonicalHash(number)) === hash;
  }

  async #marks(): Promise<Marks> {
    const marks = await this.#modules.store.marks();
    if (marks === undefined) throw new Error('the store holds no block');
    return marks;
  }
}
