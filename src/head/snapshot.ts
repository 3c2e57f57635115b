import type { BlockRef } from '../chain/outcome.ts';
import { SYSTEM_CONTRACTS } from '../chain/system-contracts.ts';
import type { StateView } from '../executor/interface.ts';
import { andThen } from '../primitives/awaitable.ts';
import { type BlockSelector, formatSelector } from '../primitives/block-selector.ts';
import { type Awaitable, fromHex, type Hex } from '../primitives/hex.ts';
import { toQuantity } from '../primitives/parse.ts';
import { StoreError } from '../store/error.ts';
import type { LogQuery, Marks } from '../store/interface.ts';
import type { ChainReader } from './chain-reader.ts';
import { HeadError } from './errors.ts';
import type { Pending, PreconfirmedBlock } from './preconfirmed.ts';
import { type Checkpoint, RenderedBlock } from './rendered.ts';

/** Matching logs of one block: ascending indexes into `block`. */
export interface FoundLogs {
  readonly block: RenderedBlock;
  readonly indexes: readonly number[];
}

/** What a snapshot knows from the head that made it. */
export interface SnapshotOptions {
  /** State below the anchor can be found elsewhere. */
  readonly stateBelowAnchor: boolean;
  /** Whether the chain has left this snapshot's head. */
  readonly isStale: () => boolean;
  /** What is pre-confirmed on top of the head. */
  readonly pending?: Pending | undefined;
}

/** One answer from a block, whichever kind it is. */
export interface BlockForms<T> {
  preconfirmed(block: PreconfirmedBlock, reader: ChainReader): Awaitable<T | undefined>;
  confirmed(ref: BlockRef, reader: ChainReader): Awaitable<T | undefined>;
}

/** The same from one of its transactions. */
export interface TransactionForms<T> {
  preconfirmed(block: PreconfirmedBlock, index: number, reader: ChainReader): Awaitable<T | undefined>;
  confirmed(ref: BlockRef, index: number, reader: ChainReader): Awaitable<T | undefined>;
}

/** How many resolved block numbers one snapshot remembers. */
const MAX_RESOLVED = 4_096;

/**
 * One immutable truth: a confirmed head and all that follows from it. Every answer to one request, or to one
 * batch, comes from one snapshot. This is the only place that knows what a selector means:
 *
 * - `latest`: the confirmed head; `safe`, `finalized`: as the store marks them; `earliest`: the lowest block held.
 * - `pending`: the newest pre-confirmed block, of which there may be several on top of the head: state and receipts
 *   are of the newest, a range of logs takes them all in. While there is none, its state and receipts are those of
 *   `latest`, and it has no logs.
 *
 * Blocks, receipts and logs are held from `lowest` on, state from `anchor` on, which may be above it.
 */
export class Snapshot {
  readonly head: BlockRef;
  readonly pending: Pending | undefined;
  readonly #marks: Marks;
  readonly #reader: ChainReader;
  readonly #options: SnapshotOptions;
  readonly #resolved = new Map<number, BlockRef>();

  constructor(marks: Marks, reader: ChainReader, options: SnapshotOptions) {
    this.head = marks.head;
    this.pending = options.pending;
    this.#marks = marks;
    this.#reader = reader;
    this.#options = options;
  }

  /** Whether it holds a confirmed block or, with `index`, at least that flashblock of a pre-confirmed one. */
  knows({ number, index }: { readonly number: number; readonly index?: number | undefined }): boolean {
    if (this.head.number >= number) return true;
    const newest = this.pending?.newest;
    if (index === undefined || newest === undefined) return false;
    return newest.number > number || (newest.number === number && newest.index >= index);
  }

  /**
   * Keeps what it is read from until `release`. Nobody has to who is done in the same turn of the event loop, as nothing takes
   * its place meanwhile.
   */
  hold(): void {
    this.pending?.view.hold();
  }

  release(): void {
    this.pending?.view.release();
  }

  /** Throws when the chain left this snapshot's head, so that nothing read meanwhile is served. */
  assertCurrent(): void {
    if (this.#options.isStale()) throw new HeadError({ code: 'REORGANISED' });
  }

  /** The confirmed block a selector names, or undefined where this snapshot has none. */
  blockAt(selector: BlockSelector): Awaitable<BlockRef | undefined> {
    switch (selector.kind) {
      case 'tag':
        return this.#blockAtTag(selector.tag);
      case 'number':
        return this.#blockAtNumber(selector.number);
      case 'hash':
        return this.#blockAtHash(selector.hash, selector.requireCanonical);
    }
  }

  /** The state a selector names. */
  viewAt(selector: BlockSelector): Awaitable<StateView> {
    if (isPending(selector) && this.pending !== undefined) return this.pending.view;
    return andThen(isPending(selector) ? this.head : this.blockAt(selector), (ref) => {
      if (ref === undefined) return this.notFound(selector);
      const { anchor } = this.#marks;
      if (ref.number < anchor.number && !this.#options.stateBelowAnchor) {
        const lowest = toQuantity(anchor.number);
        throw new HeadError({ code: 'STATE_NOT_HELD', block: toQuantity(ref.number), lowest });
      }
      return this.#reader.view(ref);
    });
  }

  /**
   * Whether a block's rules are not known here, so that nothing can be executed on it; with an address, whether its nonce and
   * storage are not known then, as blocks write them outside of transactions.
   */
  isUnknown({ number }: BlockRef, address?: Hex): boolean {
    const { byDiffs } = this.#marks;
    if (byDiffs === undefined || number < byDiffs.number) return false;
    return address === undefined || SYSTEM_CONTRACTS.has(address);
  }

  /**
   * What a block gives, in either form, or undefined for one that is not known: `pending` without a pre-confirmed block is
   * `latest` (B6).
   */
  fromBlock<T>(selector: BlockSelector, give: BlockForms<T>): Awaitable<T | undefined> {
    if (isPending(selector) && this.pending !== undefined) {
      return give.preconfirmed(this.pending.newest, this.#reader);
    }
    return andThen(isPending(selector) ? this.head : this.blockAt(selector), (ref) =>
      ref === undefined ? ref : give.confirmed(ref, this.#reader),
    );
  }

  /** The lowest blocks that blocks, state and transactions by hash are held from. */
  held(): Awaitable<{ readonly blocks: number; readonly state: number; readonly transactions: number }> {
    const { lowest, anchor } = this.#marks;
    const state = this.#options.stateBelowAnchor ? lowest.number : anchor.number;
    return andThen(this.#reader.transactionsFrom(), (from) => ({
      ...{ blocks: lowest.number, state, transactions: Math.max(from ?? 0, lowest.number) },
    }));
  }

  /** What a transaction gives, in either form, or undefined where there is none with this hash. */
  fromTransaction<T>(hash: Hex, give: TransactionForms<T>): Awaitable<T | undefined> {
    const bytes = fromHex(hash);
    for (const block of this.pending?.blocks ?? []) {
      const index = block.indexOf(bytes);
      if (index !== undefined) return give.preconfirmed(block, index, this.#reader);
    }
    return andThen(this.#reader.transaction(hash), (place) => {
      if (place === undefined) return this.#notIndexed();
      // Of a head that this snapshot does not have yet.
      if (place.number > this.head.number) return this.#whileCanonical(() => undefined);
      return andThen(this.#blockAtNumber(place.number), (ref) => {
        if (ref?.hash !== place.hash) throw new HeadError({ code: 'REORGANISED' });
        return give.confirmed(ref, place.index, this.#reader);
      });
    });
  }

  /** Nobody can say that there is no such transaction while some blocks are not indexed. */
  #notIndexed(): Awaitable<undefined> {
    return andThen(this.#reader.transactionsFrom(), (from) => {
      const above = from ?? 0;
      if (above > this.#marks.lowest.number) {
        throw new HeadError({ code: 'NOT_INDEXED', above: toQuantity(above) });
      }
      return this.#whileCanonical(() => undefined);
    });
  }

  /**
   * The block number that bounds a range of logs. Pre-confirmed blocks are those above the head: a range from `pending`
   * begins with the first of them, one to `pending` ends with the newest.
   */
  logBound(selector: Exclude<BlockSelector, { kind: 'hash' }>, side: 'from' | 'to'): number {
    if (selector.kind === 'number') return selector.number;
    switch (selector.tag) {
      case 'pending':
        return side === 'to' && this.pending !== undefined
          ? this.pending.newest.number
          : this.head.number + 1;
      case 'latest':
        return this.head.number;
      case 'safe':
      case 'finalized': {
        const marked = this.#marks[selector.tag];
        // Nobody has said yet which block that is, or it is not held any more.
        if (marked === undefined) throw new HeadError({ code: 'BLOCK_NOT_FOUND', block: selector.tag });
        return marked.number;
      }
      case 'earliest':
        return this.#marks.lowest.number;
    }
  }

  /** The time between two blocks of late, in milliseconds; undefined where there are too few to tell. */
  blockTimeMs(): Awaitable<number | undefined> {
    return this.#reader.blockTimeMs(this.head.number, this.#marks.lowest.number);
  }

  /** The JSON array of the matching logs of the block with this hash. */
  logsOf(hash: Hex, query: LogQuery, checkpoint?: Checkpoint): Awaitable<Buffer> {
    return andThen(this.#blockAtHash(hash, false), (ref) => {
      if (ref === undefined) throw this.#notFound(hash);
      return this.#reader.logs(ref, query, checkpoint);
    });
  }

  /** The same by number, as `logBound` gives it; undefined for the pre-confirmed block while there is none. */
  logsAt(number: number, query: LogQuery, checkpoint?: Checkpoint): Awaitable<Buffer | undefined> {
    if (number > this.head.number) {
      const block = this.pending?.blocks.find((pending) => pending.number === number);
      return block?.rendered.logsJson(query, checkpoint);
    }
    return andThen(this.#blockAtNumber(number), (ref) => {
      if (ref === undefined) throw this.#notFound(toQuantity(number), number);
      return this.#reader.logs(ref, query, checkpoint);
    });
  }

  /**
   * Matching logs of blocks `from`..`to`, ascending, pre-confirmed ones included; ends with an error if the chain
   * changed on the way. `checkpoint` is asked every few milliseconds: what it throws ends the search.
   */
  async *findLogs(
    query: LogQuery,
    from: number,
    to: number,
    checkpoint?: Checkpoint,
  ): AsyncGenerator<FoundLogs, void, void> {
    if (from < this.#marks.lowest.number) throw this.#notFound(toQuantity(from), from);
    if (from <= this.head.number) {
      yield* this.#findConfirmed(query, from, Math.min(to, this.head.number), checkpoint);
    }
    for (const block of this.pending?.blocks ?? []) {
      if (block.number < from || block.number > to) continue;
      const indexes = await block.matching(query, checkpoint);
      if (indexes.length > 0) yield { block: block.rendered, indexes };
    }
  }

  async *#findConfirmed(
    query: LogQuery,
    from: number,
    to: number,
    checkpoint: Checkpoint | undefined,
  ): AsyncGenerator<FoundLogs, void, void> {
    try {
      for await (const match of this.#reader.findLogs(query, from, to, checkpoint)) {
        const block = this.#reader.rendered.get(match.block.hash) ?? new RenderedBlock(match.block);
        yield { block, indexes: match.indexes };
        this.#reader.rendered.keep(block);
      }
    } catch (error) {
      throw asHeadError(error);
    }
    await this.#whileCanonical(() => undefined);
  }

  #blockAtTag(tag: Extract<BlockSelector, { kind: 'tag' }>['tag']): BlockRef | undefined {
    switch (tag) {
      case 'latest':
        return this.head;
      case 'safe':
        return this.#marks.safe;
      case 'finalized':
        return this.#marks.finalized;
      case 'earliest':
        return this.#marks.lowest;
      case 'pending':
        return undefined;
    }
  }

  #blockAtNumber(number: number): Awaitable<BlockRef | undefined> {
    if (number > this.head.number || number < this.#marks.lowest.number) return undefined;
    if (number === this.head.number) return this.head;
    const known = this.#resolved.get(number);
    if (known !== undefined) return known;
    return andThen(this.#reader.canonicalHash(number), (hash) => this.#verified(number, hash));
  }

  #blockAtHash(hash: Hex, requireCanonical: boolean): Awaitable<BlockRef | undefined> {
    if (hash === this.head.hash) return this.head;
    return andThen(this.#reader.numberOf(hash), (number) => {
      // Not known is an answer of this snapshot only while its chain is the store's.
      if (number === undefined) return this.#whileCanonical(() => undefined);
      return andThen(this.#blockAtNumber(number), (ref) => {
        if (ref?.hash === hash) return ref;
        if (requireCanonical) throw new HeadError({ code: 'NOT_CANONICAL', hash });
        return undefined;
      });
    });
  }

  /** A hash read by number is of this snapshot's chain only if the head is still the store's at that height. */
  #verified(number: number, hash: Hex | undefined): Awaitable<BlockRef> {
    return this.#whileCanonical(() => {
      if (hash === undefined) throw new HeadError({ code: 'REORGANISED' });
      const ref: BlockRef = { number, hash };
      if (this.#resolved.size >= MAX_RESOLVED) this.#resolved.clear();
      this.#resolved.set(number, ref);
      return ref;
    });
  }

  /** Goes on with what was read by number or not found, if the store still has this snapshot's head. */
  #whileCanonical<T>(next: () => T): Awaitable<T> {
    return andThen(this.#reader.canonicalHash(this.head.number), (head) => {
      if (head !== this.head.hash) throw new HeadError({ code: 'REORGANISED' });
      return next();
    });
  }

  /** Refuses a selector that names no block of this snapshot. */
  notFound(selector: BlockSelector): never {
    throw this.#notFound(formatSelector(selector), selector.kind === 'number' ? selector.number : undefined);
  }

  /** Below what is held, the client is told where that begins. */
  #notFound(block: string, number?: number): HeadError {
    const lowest = this.#marks.lowest.number;
    return new HeadError({
      code: 'BLOCK_NOT_FOUND',
      block,
      ...(number !== undefined && number < lowest && { lowest: toQuantity(lowest) }),
    });
  }
}

function isPending(selector: BlockSelector): boolean {
  return selector.kind === 'tag' && selector.tag === 'pending';
}

/** A store that lost the blocks being read, to another fork or to pruning, says so in its own words. */
function asHeadError(error: unknown): unknown {
  return error instanceof StoreError && (error.code === 'reorganised' || error.code === 'outOfRange')
    ? new HeadError({ code: 'REORGANISED' }, undefined, { cause: error })
    : error;
}
