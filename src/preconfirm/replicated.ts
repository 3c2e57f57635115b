import type { BlockRef } from '../chain/outcome.ts';
import { InvalidBlockError } from '../executor/errors.ts';
import type { NativeExecutor } from '../executor/native-executor.ts';
import type { FeedItem, PublishToFeed } from '../feed/interface.ts';
import { type BlockLink, linkOf } from '../feed/wire/links.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import { type Hex, ZERO_HASH } from '../primitives/hex.ts';
import type { ObserveReplicated } from './events.ts';

export interface ReplicatedOptions {
  /** Blocks that may wait for the one below them, at least one; with more, the oldest is forgotten. */
  readonly heldBlocks: number;
  /** Flashblocks of all of them; with more, likewise. */
  readonly heldFlashblocks: number;
}

/** Two blocks of the shortest flashblocks that builders make. */
export const DEFAULT_REPLICATED_OPTIONS: ReplicatedOptions = { heldBlocks: 2, heldFlashblocks: 128 };

export interface ReplicatedModules {
  readonly executor: Pick<
    NativeExecutor,
    | 'applyFlashblock'
    | 'dropPreconfirmed'
    | 'preconfirmedPayloads'
    | 'sealedOtherwise'
    | 'takeLostPreconfirmed'
  >;
  /** Tells the threads of this process. */
  readonly publish: PublishToFeed;
  readonly observe: ObserveReplicated;
}

type Told = Extract<FeedItem, { readonly kind: 'preconfirmed' }>;

/** A block that waits for the one below it, with its flashblocks from the first on. */
interface HeldBlock {
  readonly number: number;
  readonly payloadId: string;
  readonly flashblocks: Told[];
}

/** A block that is pre-confirmed here. */
interface AppliedBlock {
  readonly number: number;
  readonly payloadId: string;
  /** So far; undefined where its builder does not say it. */
  readonly hash: Hex | undefined;
}

/**
 * Pre-confirmed state of a process that executes nothing: applies flashblocks that another process executed, as they come from a
 * feed, and tells the threads of this one. Each has to follow the one before it, and the first of a block the block below. One
 * that does not, or that is lost, ends all that is pre-confirmed here until a block begins that fits.
 */
export class ReplicatedPreconfirming {
  readonly #options: ReplicatedOptions;
  readonly #modules: ReplicatedModules;
  /** Ascending, with some that the core has dropped since: see `#standing`. */
  #applied: readonly AppliedBlock[] = [];
  /** Ascending. */
  #held: readonly HeldBlock[] = [];
  /** The head where the last item of the feed was told. */
  #toldHead: Hex | undefined;
  /** Whether threads were told of anything since all of it was dropped. */
  #hasTold = false;
  #appliedAt: number | undefined;

  constructor(options: ReplicatedOptions, modules: ReplicatedModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Time since a flashblock was applied; undefined before the first one. */
  get ageMs(): number | undefined {
    return this.#appliedAt === undefined ? undefined : performance.now() - this.#appliedAt;
  }

  /** Flashblocks that wait for the block below theirs. */
  get heldFlashblocks(): number {
    return this.#held.reduce((count, { flashblocks }) => count + flashblocks.length, 0);
  }

  /** Hears that hot state has another head, each time before threads are told of it. */
  setHead({ number }: BlockRef): void {
    const { executor, publish } = this.#modules;
    // It names the new head as its parent, but stood on other contents: nobody may see it on top of the head.
    if (executor.takeLostPreconfirmed())
      void publish({ kind: 'dropped', from: number + 1, reason: 'sealedOtherwise', version: undefined });
    this.#release();
  }

  /** Takes the next item of the feed, of every kind. To apply what is confirmed is for others: see `setHead`. */
  take(item: FeedItem): void {
    switch (item.kind) {
      case 'preconfirmed':
        this.#guarded(item, () => this.#place(item, linkOf(item.outcome)));
        break;
      case 'dropped':
        this.#held = this.#held.filter(({ number }) => number < item.from);
        this.#drop(item.from, item.reason);
        break;
      case 'anchored':
        this.lost(item.kind);
        break;
      case 'confirmed': {
        const newest = item.added.at(-1);
        this.#toldHead = newest?.hash ?? item.removed.at(-1)?.parentHash ?? this.#toldHead;
        if (newest !== undefined) this.#held = this.#held.filter(({ number }) => number > newest.number);
        this.#release();
        break;
      }
      case 'marked':
        break;
    }
  }

  /** Drops all that is pre-confirmed: something of the feed is missing. */
  lost(reason: string): void {
    this.#toldHead = undefined;
    this.#giveUp(reason);
  }

  #giveUp(reason: string): void {
    this.#held = [];
    if (this.#hasTold) this.#drop(0, reason);
  }

  #place(told: Told, link: BlockLink): void {
    const { payloadId, index } = told;
    if (index === 0) {
      this.#expectParent(link);
      // It takes the place of those of its number and above.
      this.#held = this.#held.filter(({ number }) => number < link.number);
      if (!this.#begin(told, link)) this.#hold({ number: link.number, payloadId, flashblocks: [told] });
      return;
    }
    const held = this.#held.find((block) => block.payloadId === payloadId);
    if (held === undefined) {
      // Where nothing is pre-confirmed, its block was lost before, or is confirmed by now.
      if (this.#standing().length > 0) this.#apply(told, link);
    } else if (held.flashblocks.length === index) {
      held.flashblocks.push(told);
      this.#forgetSome();
    } else {
      throw new InvalidBlockError(`flashblock ${index} does not follow those that wait with it`);
    }
  }

  /** Whoever executed a block on another one than is here knows better. */
  #expectParent({ number, parentHash }: BlockLink): void {
    const below = this.#standing().find((block) => block.number === number - 1);
    // Or it was sealed, which the feed has told before the store shows it.
    if (below?.hash === undefined || below.hash === parentHash || parentHash === this.#toldHead) return;
    this.#giveUp('parent');
  }

  /**
   * Applies the first flashblock of a block if what it stands on is here; whether it is. A confirmed block has to be confirmed
   * for who executed it, too: else it may stand there on what was pre-confirmed under the same hash, with other contents.
   */
  #begin(told: Told, link: BlockLink): boolean {
    const isOnPreconfirmed = this.#standing().some(({ number }) => number === link.number - 1);
    if (!isOnPreconfirmed && link.parentHash !== this.#toldHead) return false;
    try {
      this.#apply(told, link);
      return true;
    } catch (error) {
      if (error instanceof InvalidBlockError || error instanceof StateUnavailableError) return false;
      throw error;
    }
  }

  #hold(block: HeldBlock): void {
    this.#held = [...this.#held, block];
    this.#forgetSome();
    this.#modules.observe({ kind: 'held', number: block.number });
  }

  /** The newest are those that the head is on its way to. */
  #forgetSome(): void {
    const { heldBlocks, heldFlashblocks } = this.#options;
    while (this.#held.length > heldBlocks || this.heldFlashblocks > heldFlashblocks)
      this.#held = this.#held.slice(1);
  }

  /** Applies what stands on what is here by now. */
  #release(): void {
    for (const block of this.#held) {
      const [first, ...others] = block.flashblocks;
      if (first === undefined || !this.#held.includes(block)) continue;
      this.#guarded(first, () => {
        if (!this.#begin(first, linkOf(first.outcome))) return;
        this.#held = this.#held.filter((held) => held !== block);
        for (const told of others) this.#apply(told, linkOf(told.outcome));
      });
    }
  }

  #apply(told: Told, { number, hash }: BlockLink): void {
    const { executor, publish, observe } = this.#modules;
    const { payloadId, index } = told;
    const started = performance.now();
    const version = executor.applyFlashblock(told);
    const below = this.#standing().filter((block) => block.number < number);
    this.#applied = [...below, { number, payloadId, hash: hash === ZERO_HASH ? undefined : hash }];
    // It stands on the sealed block, and whoever holds the other contents must not put it on top of those.
    if (index === 0 && executor.sealedOtherwise === number - 1)
      void publish({ kind: 'dropped', from: number - 1, reason: 'sealedOtherwise', version: undefined });
    void publish({ ...told, version });
    this.#hasTold = true;
    this.#appliedAt = performance.now();
    observe({ kind: 'applied', number, index, ms: this.#appliedAt - started });
  }

  /** Runs what takes a flashblock in; if that cannot be taken, all that is pre-confirmed goes. Whatever a feed carries, it ends nobody. */
  #guarded({ index }: Told, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#modules.observe({ kind: 'refused', index, error });
      this.#giveUp('refused');
    }
  }

  #drop(from: number, reason: string): void {
    const { executor, publish, observe } = this.#modules;
    const version = executor.dropPreconfirmed(from);
    this.#applied = this.#standing();
    this.#hasTold = from > 0 && this.#hasTold;
    void publish({ kind: 'dropped', from, reason, version });
    observe({ kind: 'dropped', reason });
  }

  /** The blocks that are still pre-confirmed on the head. */
  #standing(): readonly AppliedBlock[] {
    if (this.#applied.length === 0) return this.#applied;
    const payloads = this.#modules.executor.preconfirmedPayloads();
    return this.#applied.filter(({ payloadId }) => payloads.includes(payloadId));
  }
}
