import type { BlockRef, EncodedOutcome } from '../chain/outcome.ts';
import { InvalidBlockError, UnknownForkError } from '../executor/errors.ts';
import type { BlockLoader } from '../executor/executions.ts';
import type { Promotion } from '../executor/interface.ts';
import type { NativeExecutor } from '../executor/native-executor.ts';
import type { PublishToFeed } from '../feed/interface.ts';
import type { UndoWindow } from '../primitives/undo-window.ts';
import type { RulesStop } from '../rules/row.ts';
import type { Target } from '../source/heads/leader.ts';
import type { ChainSource, HeadEvent } from '../source/interface.ts';
import { Denials } from '../source/pool/denials.ts';
import type { BlockTime } from '../store/block-time.ts';
import { headerAt } from '../store/canonical-header.ts';
import type { Marks, Store } from '../store/interface.ts';
import { BlocksAhead, readAbove } from './blocks/ahead.ts';
import type { BlockReader, ReadBlock } from './blocks/reader.ts';
import { BlockWriter, type Written } from './blocks/writer.ts';
import { Writes } from './blocks/writes.ts';
import { NotExtendingError } from './errors.ts';
import type { ObserveFollowing } from './events.ts';
import { Forks } from './forks.ts';
import type { UnknownForks } from './rules/unknown-forks.ts';
import { BlockReads } from './state/block-reads.ts';
import { BlockStarts } from './state/block-starts.ts';
import type { PinnedState } from './state/pinned-state.ts';
import { prestateTrace } from './state/prestate.ts';
import type { StateReader } from './state/reader.ts';
import { restoreHotState } from './state/restore.ts';
import { ToldEffects } from './state/told-effects.ts';
import { Suspects } from './suspects.ts';

export interface FollowerOptions {
  /** How far back blocks can be taken off. */
  readonly undoWindow: UndoWindow;
  /** Blocks whose changes are kept in memory. */
  readonly hotWindow: number;
  /** Blocks fetched at the same time, and at most written together, while catching up. */
  readonly catchUpBlocks: number;
  /** Whether state is read by proof, so that a trace of a block is of no use. */
  readonly verifyState: boolean;
}

export interface FollowerModules {
  readonly store: Store;
  readonly executor: NativeExecutor;
  readonly source: Pick<
    ChainSource,
    'prestate' | 'report' | 'hashAt' | 'status' | 'stateDiffs' | 'state' | 'proof'
  >;
  readonly blocks: BlockReader;
  readonly state: PinnedState;
  /** Reads what the chain really has, with a proof of it. */
  readonly prove: StateReader;
  /** From when on the chain has rules that we lack, and why, if that is known (B16). */
  readonly stop?: () => RulesStop | undefined;
  /** Which blocks are followed by state diffs instead; absent where none are. */
  readonly unknownForks?: UnknownForks | undefined;
  readonly blockTime: Pick<BlockTime, 'ms'>;
  readonly publish: PublishToFeed;
  readonly observe: ObserveFollowing;
}

const NOT_PROMOTED: Promotion = { outcome: undefined, preconfirmed: undefined, difference: undefined };
/** How long a trace that was wrong is not asked for again. */
const TRACE_DENIAL = { firstMs: 300_000, maxMs: 3_600_000 };
const TRACES = 'traces';
/** How many times the blocks that are fetched at once one move takes, before it is decided anew where to go. */
const MOVE_BATCHES = 16;
/** Blocks of a fork that are fetched before its upstream is asked whether there is any use in going on. */
const SHALLOW = 8;

/**
 * Moves the copy towards a new head: fetches what lies between, executes and verifies each block, and writes it. The
 * store changes from one fork to another in a single step, so that readers never see half of either. What is final
 * stays.
 */
export class ChainMover {
  readonly #options: FollowerOptions;
  readonly #modules: FollowerModules;
  readonly #forks: Forks;

  /** Traces that were wrong. */
  readonly #denials = new Denials(TRACE_DENIAL);
  readonly #starts: BlockStarts;
  readonly #writer: BlockWriter;
  readonly #suspects: Suspects;
  /** The block that could not be executed the last time. */
  #failed: number | undefined;

  constructor(options: FollowerOptions, modules: FollowerModules) {
    this.#options = options;
    this.#modules = modules;
    this.#suspects = new Suspects(modules);
    this.#forks = new Forks(modules);
    this.#starts = new BlockStarts(modules);
    this.#writer = new BlockWriter(options, modules);
  }

  /** Takes a step towards a head; true once there is none left to take. */
  async moveTowards({ head: target, mode }: Target, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const marks = await this.#marks();
    const { lowest, head } = marks;
    // Of an upstream that lags, or whose chain was started again: nothing that could be compared with ours.
    if (target.number < lowest.number) return true;
    if (target.number <= head.number && (await this.#forks.isCanonical(target))) {
      if (mode !== 'back' || target.number === head.number) return true;
      await this.#forks.expectUndoable(target, marks);
      await this.#replace(target, [], head, signal);
      return true;
    }
    const { upstream } = target;
    if (target.parentHash === head.hash) {
      const sealed = await this.#promoteSealed(target);
      await this.#extend(head, [sealed ?? (await this.#asNamed(target, signal))], signal);
    } else if (target.number > head.number + 1) {
      await this.#catchUp(head, { head: target, mode }, signal);
    } else if (mode === 'extend')
      throw new NotExtendingError(`${upstream} named a head that does not extend ours`);
    else await this.#switchTo(await this.#asNamed(target, signal), signal);
    return false;
  }

  /** The block of a head, which its hash proves to be where it was said to be. */
  async #asNamed(target: HeadEvent, signal: AbortSignal): Promise<ReadBlock> {
    const { hash, upstream } = target;
    const block = await this.#modules.blocks.byHash(hash, { signal, prefer: upstream });
    if (block.number === target.number && block.parentHash === target.parentHash) return block;
    this.#modules.source.report(upstream, { item: hash, what: 'header of its head' });
    throw new NotExtendingError(`${upstream} named block ${hash} as what it is not`);
  }

  /** Fetches blocks between the head and the target by number, some at once, the next of them while these are executed. */
  async #catchUp(head: BlockRef, { head: target, mode }: Target, signal: AbortSignal): Promise<void> {
    const { catchUpBlocks, hotWindow } = this.#options;
    // Hot state must reach back to the last block written: what it lacks is read as of its oldest one.
    const size = Math.min(catchUpBlocks, hotWindow);
    // What is executed while others are written is as many again.
    const most = size * (hotWindow >= 2 * size ? MOVE_BATCHES : 1);
    // Those below a block that could not be executed must not wait for it.
    const failed = this.#failed ?? 0;
    const below = failed > head.number + 1 ? failed - 1 : Number.POSITIVE_INFINITY;
    const last = Math.min(target.number, head.number + most, below);
    const ahead = new BlocksAhead(this.#modules.blocks, head, {
      last,
      size,
      upstream: target.upstream,
      signal,
    });
    const { linked, first } = await ahead.next(head);
    if (linked.length > 0) await this.#extend(head, linked, signal, ahead);
    else if (first?.status === 'rejected') throw first.reason;
    else if (mode === 'extend') {
      throw new NotExtendingError(`${target.upstream} named a head that does not extend ours`);
    } else if (first !== undefined) await this.#switchTo(first.value, signal);
  }

  /** Goes to a block whose parent is not the head: back to where the two forks part, then up. */
  async #switchTo(tip: ReadBlock, signal: AbortSignal): Promise<void> {
    const marks = await this.#marks();
    const fork = [tip];
    let lowest = tip;
    for (;;) {
      const base = { number: lowest.number - 1, hash: lowest.parentHash };
      if (await this.#forks.isCanonical(base)) {
        await this.#forks.expectUndoable(base, marks);
        return this.#replace(base, fork, marks.head, signal);
      }
      // What it stands on is not ours, so it parts from ours further below.
      await this.#forks.expectUndoable({ number: base.number - 1 }, marks);
      if (fork.length === SHALLOW) await this.#forks.expectShared(tip.upstream, marks, signal);
      if (fork.length === this.#options.hotWindow) return this.#switchDeep(tip, base.number, marks, signal);
      lowest = await this.#modules.blocks.byHash(base.hash, { signal, prefer: tip.upstream });
      fork.unshift(lowest);
    }
  }

  /**
   * The same where the forks part deeper than hot state reaches. Such a fork is not held whole: its first blocks are put in
   * the place of ours once they are verified, the others are caught up with.
   */
  async #switchDeep(tip: ReadBlock, above: number, marks: Marks, signal: AbortSignal): Promise<void> {
    const base = await this.#forks.commonAncestor(tip.upstream, above, marks, signal);
    const { catchUpBlocks, hotWindow } = this.#options;
    const last = Math.min(tip.number, base.number + Math.min(catchUpBlocks, hotWindow));
    const { linked, first } = await readAbove(this.#modules.blocks, base, last, tip.upstream, signal);
    if (first?.status === 'rejected') throw first.reason;
    if (linked.length === 0) throw new NotExtendingError(`${tip.upstream} left the fork that it was on`);
    return this.#replace(base, linked, marks.head, signal);
  }

  /** Puts a fork in the place of the blocks above `base`; with an empty one they are just gone. */
  async #replace(
    base: BlockRef,
    fork: readonly ReadBlock[],
    head: BlockRef,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#extend(base, fork, signal);
    this.#modules.observe({ kind: 'reorganised', depth: head.number - base.number, base });
  }

  /** Puts blocks on top of `base`, which is the head or becomes it, and those that are ahead on top of them. */
  async #extend(
    base: BlockRef,
    offered: readonly (ReadBlock | EncodedOutcome)[],
    signal: AbortSignal,
    ahead?: BlocksAhead,
  ): Promise<void> {
    const { executor, state, store, publish } = this.#modules;
    const marks = await this.#marks();
    const { head } = marks;
    const replaces = head.hash !== base.hash;
    const byDiffs = this.#modules.unknownForks?.above(base, marks);
    const outcomes: EncodedOutcome[] = [];
    /** The block that is being executed. */
    let executing: number | undefined;
    // What is executed meanwhile stands on what is being written.
    const writes = new Writes(base, async (executed) =>
      this.#write(base, executed, { replaces, byDiffs: byDiffs?.mark }, await this.#marks()),
    );
    try {
      let blocks = this.#beforeStop(offered);
      if (replaces) {
        // Pre-confirmed state stands on blocks that are about to leave hot state; the store still has the old fork.
        const version = executor.dropPreconfirmed(0);
        await publish({ kind: 'dropped', from: 0, reason: 'reorganised', version });
        await this.#revertHotState(head, base);
        state.readAt(base);
      }
      let last: EncodedOutcome | undefined;
      do {
        for (const [index, block] of blocks.entries()) {
          executing = block.number;
          // For all at once; again after the first, which may have been the first to show what they write.
          if ('rlp' in block && index <= 1) {
            const below = last?.header ?? (await headerAt(store, base.number));
            await this.#starts.bringIn(blocks.slice(index), below, writes.written);
          }
          const isWhole = 'rlp' in block && byDiffs?.takes(block) === true;
          last = 'rlp' in block ? await this.#execute(block, writes.written, signal, isWhole) : block;
          executing = undefined;
          if (index === 0) this.#starts.learn(last);
          outcomes.push(last);
          // A fork takes the place of another in a single step.
          const canPart = !replaces && index < blocks.length - 1;
          if (canPart && writes.isDue) await writes.begin(outcomes.splice(0));
        }
        await writes.begin(outcomes.splice(0));
        const next = await ahead?.next(last ?? base);
        blocks = this.#beforeStop(next?.linked ?? []);
      } while (blocks.length > 0);
      await writes.end();
      this.#failed = undefined;
    } catch (error) {
      this.#failed = executing;
      await Promise.allSettled([writes.end()]);
      // Hot state may be ahead of the store, on another fork, or hold what a liar said. Nothing may stand on it then.
      const version = executor.dropPreconfirmed(0);
      await publish({ kind: 'dropped', from: 0, reason: 'block refused', version });
      await restoreHotState(executor, store, this.#options.hotWindow);
      throw error;
    } finally {
      state.readAt(undefined);
    }
  }

  /** Writes blocks, and has what those after them need read, which is possible once they are there. */
  async #write(
    base: BlockRef,
    outcomes: readonly EncodedOutcome[],
    as: Written,
    marks: Marks,
  ): Promise<BlockRef> {
    const head = await this.#writer.write(base, outcomes, as, marks);
    this.#starts.readAhead(outcomes.at(-1));
    return head;
  }

  /** Those of a time whose rules are known; throws when there are none (B16). */
  #beforeStop<T extends { readonly timestamp: number }>(blocks: readonly T[]): readonly T[] {
    const stop = this.#modules.stop?.();
    if (stop === undefined || this.#modules.unknownForks?.canFollow === true) return blocks;
    const known = blocks.findIndex(({ timestamp }) => timestamp >= stop.time);
    if (known === 0) throw new UnknownForkError(stop.reason);
    return known < 0 ? blocks : blocks.slice(0, known);
  }

  /** Has hot state end with a block that becomes the head. */
  async #revertHotState(head: BlockRef, base: BlockRef): Promise<void> {
    const { executor, store } = this.#modules;
    const { hotWindow } = this.#options;
    if (head.number - base.number < hotWindow) executor.revertTo(base.number);
    else await restoreHotState(executor, store, hotWindow, base.number);
  }

  /** The outcome of a new head that is here already, by its hash: nobody is asked for the block, and nothing is executed. */
  async #promoteSealed(target: HeadEvent): Promise<EncodedOutcome | undefined> {
    const started = performance.now();
    const outcome = await this.#modules.executor.promoteSealed(target);
    const transactions = outcome?.receipts.length;
    if (transactions === undefined) return undefined;
    const promotion = { outcome, preconfirmed: transactions, difference: undefined };
    this.#observePromotion(target, promotion, performance.now() - started);
    return outcome;
  }

  /** Executes a block; what it was told by upstreams counts only if it verifies. */
  async #execute(
    block: ReadBlock,
    base: BlockRef,
    signal: AbortSignal,
    isWhole: boolean,
  ): Promise<EncodedOutcome> {
    const { executor, source, state, observe } = this.#modules;
    const started = performance.now();
    let rounds = 0;
    const usesTraces = !this.#options.verifyState && !this.#denials.isDenied(TRACES, started);
    const trace = usesTraces ? prestateTrace(source, block.hash, block.upstream) : undefined;
    const reads = new BlockReads(this.#suspects.preferFor(block), trace);
    const accept = (): void => {
      state.accept(reads);
      this.#suspects.verified(block, reads);
    };
    const effects = new ToldEffects(block, isWhole, this.#modules, { signal, prefer: reads.prefer });
    try {
      const load: BlockLoader = (keys, asOf) => {
        rounds++;
        return state.loadFor(reads, keys, asOf);
      };
      const promotion = isWhole ? NOT_PROMOTED : await executor.promote(block.rlp, load, signal);
      if (promotion.outcome !== undefined) {
        accept();
        this.#observePromotion(block, promotion, performance.now() - started);
        return promotion.outcome;
      }
      const outcome = await executor.execute(block.rlp, load, signal, effects);
      if (effects.transactions.length > 0) await this.#observeTaken(effects, outcome);
      accept();
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
      if (!(error instanceof InvalidBlockError)) throw error;
      if (!reads.usedTrace) {
        await effects.addTo(reads, this.#modules.store, base.number);
        throw await this.#suspects.judge(block, reads, error, base);
      }
      // Tracers differ in what they leave out: before anybody is suspected, the block is tried without.
      this.#denials.deny(TRACES, performance.now());
      throw error;
    }
  }

  /** Some transactions were not executed: that is said, and with `--verify-state` what they did has to be proven. */
  async #observeTaken(effects: ToldEffects, outcome: EncodedOutcome): Promise<void> {
    if (this.#options.verifyState) await effects.prove(outcome);
    const { number, hash } = outcome;
    const told = { transactions: effects.transactions.length, upstream: effects.upstream };
    const isProven = this.#options.verifyState;
    this.#modules.observe({ kind: 'taken', block: { number, hash }, ...told, isProven });
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

  async #marks(): Promise<Marks> {
    const marks = await this.#modules.store.marks();
    if (marks === undefined) throw new Error('the store holds no block');
    return marks;
  }
}
