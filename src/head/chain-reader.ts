import { LRUCache } from 'lru-cache';
import type { BlockRef } from '../chain/outcome.ts';
import type { Executor, StateView } from '../executor/interface.ts';
import { andThen } from '../primitives/awaitable.ts';
import type { Awaitable, Hex } from '../primitives/hex.ts';
import { BlockTime } from '../store/block-time.ts';
import type { BlockReceipts, LogMatch, LogQuery, Store, TransactionPlace } from '../store/interface.ts';
import type { BlockJson, SealedBlock } from './block-json.ts';
import { HeadError } from './errors.ts';
import type { BlockParts } from './parts.ts';
import { type Checkpoint, type Listing, RenderedBlock, RenderedBlocks } from './rendered.ts';

export interface ChainReaderOptions {
  /** Rendered logs and receipts kept, in bytes. */
  readonly renderCacheBytes: number;
  /** State views kept; each is a handle on shared state. */
  readonly viewCacheEntries: number;
}

/** What serving needs of a store: it never writes. */
export type ReadableStore = Pick<
  Store,
  | 'marks'
  | 'canonicalHash'
  | 'numberOf'
  | 'header'
  | 'block'
  | 'receipts'
  | 'blockLogs'
  | 'findLogs'
  | 'transaction'
  | 'transactionsFrom'
>;

export interface ChainReaderModules {
  readonly store: ReadableStore;
  readonly executor: Pick<Executor, 'view'>;
  readonly json: BlockJson;
}

/** Places of transactions kept, about 300 bytes each: who asks for one asks again, for its receipt or until it is final. */
const MAX_PLACES = 4_096;

/** Reads blocks that are named by hash, so that what it caches can never be stale. */
export class ChainReader {
  readonly rendered: RenderedBlocks;
  readonly json: BlockJson;
  readonly #store: ReadableStore;
  readonly #executor: Pick<Executor, 'view'>;
  readonly #views: LRUCache<Hex, StateView>;
  readonly #places = new LRUCache<Hex, TransactionPlace>({ max: MAX_PLACES });
  readonly #blockTime: BlockTime;

  constructor(options: ChainReaderOptions, modules: ChainReaderModules) {
    this.rendered = new RenderedBlocks(options.renderCacheBytes);
    this.#views = new LRUCache({ max: options.viewCacheEntries });
    this.json = modules.json;
    this.#store = modules.store;
    this.#blockTime = new BlockTime(modules.store);
    this.#executor = modules.executor;
  }

  canonicalHash(number: number): Awaitable<Hex | undefined> {
    return this.#store.canonicalHash(number);
  }

  numberOf(hash: Hex): Awaitable<number | undefined> {
    return this.#store.numberOf(hash);
  }

  /** The time between two blocks, in milliseconds; undefined where it is not known. */
  blockTimeMs(head: number, lowest: number): Awaitable<number | undefined> {
    return this.#blockTime.ms(head, lowest);
  }

  findLogs(query: LogQuery, from: number, to: number, checkpoint?: Checkpoint): AsyncIterable<LogMatch> {
    return this.#store.findLogs(query, from, to, checkpoint);
  }

  view(ref: BlockRef): Awaitable<StateView> {
    const known = this.#views.get(ref.hash);
    if (known !== undefined) return known;
    return andThen(this.header(ref), (header) => {
      const view = this.#executor.view(header);
      this.#views.set(ref.hash, view);
      return view;
    });
  }

  logs(ref: BlockRef, query: LogQuery, checkpoint?: Checkpoint): Awaitable<Buffer> {
    const known = this.rendered.get(ref.hash);
    if (known !== undefined) return this.#logsJson(known, query, checkpoint);
    return andThen(this.#store.blockLogs(ref), (logs) =>
      this.#logsJson(new RenderedBlock(held(logs)), query, checkpoint),
    );
  }

  receipts(ref: BlockRef): Awaitable<Buffer> {
    const known = this.rendered.get(ref.hash);
    if (known?.receipts !== undefined) return known.receipts;
    return andThen(this.receiptsOf(ref), (receipts) => {
      const block = known ?? new RenderedBlock(receipts.logs);
      return this.#kept(block, block.renderReceipts(receipts));
    });
  }

  /** RLP of a block's header. */
  header(ref: BlockRef): Awaitable<Uint8Array> {
    return andThen(this.#store.header(ref), held);
  }

  /** RLP of a whole block. */
  blockBytes(ref: BlockRef): Awaitable<Uint8Array> {
    return andThen(this.#store.block(ref), held);
  }

  /** A block's time in milliseconds, where its chain has such times: kept with its logs, whose receipts need not be decoded. */
  timestampMs(ref: BlockRef): Awaitable<number | undefined> {
    const known = this.rendered.get(ref.hash);
    if (known !== undefined) return known.logs.timestampMs;
    return andThen(this.#store.blockLogs(ref), (logs) => held(logs).timestampMs);
  }

  /** What a block has as its receipts, not rendered. */
  receiptsOf(ref: BlockRef): Awaitable<BlockReceipts> {
    return this.rendered.get(ref.hash)?.contents ?? andThen(this.#store.receipts(ref), held);
  }

  /** What a block consists of. */
  parts(ref: BlockRef): BlockParts {
    return {
      ...ref,
      isSealed: true,
      header: () => this.header(ref),
      receipts: () => andThen(this.receiptsOf(ref), ({ receipts }) => receipts),
    };
  }

  /** The JSON of a block. */
  block(ref: BlockRef, listing: Listing): Awaitable<Buffer> {
    const known = this.rendered.get(ref.hash)?.block(listing);
    if (known !== undefined) return known;
    return andThen(this.#sealed(ref), (sealed) => {
      const json = Buffer.from(this.json.sealed(sealed, listing), 'latin1');
      this.#keep(sealed.of, (block) => block.holdBlock(listing, json));
      return json;
    });
  }

  /** The JSON of one transaction; undefined where the block has none of that number. */
  transactionAt(ref: BlockRef, index: number): Awaitable<string | undefined> {
    const known = this.rendered.get(ref.hash)?.transaction(index);
    if (known !== undefined) return known;
    return andThen(this.#sealed(ref), (sealed) => {
      const json = this.json.transaction(sealed, index);
      this.#keep(sealed.of, (block) => {
        block.hold(sealed.of);
        if (json !== undefined) block.holdTransaction(index, json);
      });
      return json;
    });
  }

  /** The JSON of one receipt; undefined where the block has none of that number. */
  receipt(ref: BlockRef, index: number): Awaitable<string | undefined> {
    return andThen(this.receiptsOf(ref), (receipts) => {
      const block = this.#keep(receipts, (kept) => kept.hold(receipts));
      return block.receipt(receipts, index);
    });
  }

  /** A block with what executing it gave. */
  #sealed(ref: BlockRef): Awaitable<SealedBlock & { readonly of: BlockReceipts }> {
    return andThen(this.blockBytes(ref), (block) =>
      andThen(this.receiptsOf(ref), (of) => ({
        ...{ hash: ref.hash, block, receipts: of.receipts, timestampMs: of.logs.timestampMs, of },
      })),
    );
  }

  /** Has the entry of a block keep something of it. */
  #keep({ logs }: BlockReceipts, hold: (block: RenderedBlock) => void): RenderedBlock {
    const block = this.rendered.get(logs.hash) ?? new RenderedBlock(logs);
    hold(block);
    this.rendered.keep(block);
    return block;
  }

  /** Where a transaction is, as far as it is indexed. */
  transaction(hash: Hex): Awaitable<TransactionPlace | undefined> {
    const known = this.#places.get(hash);
    if (known === undefined) return this.#findTransaction(hash);
    // A place holds as long as its block is canonical: no chain has a transaction twice.
    return andThen(this.#store.canonicalHash(known.number), (now) =>
      now === known.hash ? known : this.#findTransaction(hash),
    );
  }

  #findTransaction(hash: Hex): Awaitable<TransactionPlace | undefined> {
    return andThen(this.#store.transaction(hash), (place) => {
      if (place === undefined) this.#places.delete(hash);
      else this.#places.set(hash, place);
      return place;
    });
  }

  /** The lowest block whose transactions are found by hash. */
  transactionsFrom(): Awaitable<number | undefined> {
    return this.#store.transactionsFrom();
  }

  #logsJson(block: RenderedBlock, query: LogQuery, checkpoint?: Checkpoint): Awaitable<Buffer> {
    return this.#kept(block, block.logsJson(query, checkpoint));
  }

  #kept(block: RenderedBlock, json: Awaitable<Buffer>): Awaitable<Buffer> {
    return andThen(json, (bytes) => {
      this.rendered.keep(block);
      return bytes;
    });
  }
}

/** What the store has of a block that a snapshot names; it can only be gone by a reorg or by pruning. */
function held<T>(found: T | undefined): T {
  if (found === undefined) throw new HeadError({ code: 'REORGANISED' });
  return found;
}
