import { LRUCache } from 'lru-cache';
import type { Receipt } from '../chain/receipt.ts';
import { andThen } from '../primitives/awaitable.ts';
import { type Awaitable, type Hex, toHex } from '../primitives/hex.ts';
import { Pace } from '../primitives/pace.ts';
import type { BlockLogs, BlockReceipts, LogQuery } from '../store/interface.ts';
import { createMatcher } from '../store/match.ts';
import { renderLog, renderReceipt } from './json.ts';

/** What a block costs the cache before anything of it is rendered. */
const BASE_BYTES = 512;
/** The decoded-on-demand form of a log that the store keeps behind `BlockLogs`. */
const BYTES_PER_STORED_LOG = 160;

/** A receipt as it is decoded, with its bloom. */
const BYTES_PER_RECEIPT = 1_024;

/** Answers to different queries of one block that are kept; a block is mostly asked the same few. */
const MAX_ANSWERS = 8;
/** A query with more values than this is not worth a key. */
const MAX_KEY_VALUES = 8;

/** Logs of a block that are gone through at once; those of a larger one in several turns of the event loop. */
const LOGS_AT_ONCE = 2_048;

/** Whether a block lists its transactions whole or by hash. */
export type Listing = 'whole' | 'hashes';

/** Asked between two turns; what it throws ends the work. */
export type Checkpoint = () => void;
const NO_CHECK: Checkpoint = () => {};

/** Does something for each log of a block, in order. */
export function forEachLog(
  logs: BlockLogs,
  work: (index: number) => void,
  checkpoint = NO_CHECK,
): Awaitable<void> {
  if (logs.length > LOGS_AT_ONCE) return inTurns(logs.length, work, checkpoint);
  for (let index = 0; index < logs.length; index++) work(index);
}

async function inTurns(count: number, work: (index: number) => void, checkpoint: Checkpoint): Promise<void> {
  const pace = new Pace();
  for (let index = 0; index < count; index++) {
    if (pace.spend(1)) {
      await pace.rest();
      checkpoint();
    }
    work(index);
  }
}

/** The JSON array of the first receipts of a block. */
interface RenderedReceipts {
  readonly json: Buffer;
  readonly count: number;
  /** Of these receipts. */
  readonly logs: number;
}

const NO_RECEIPTS: RenderedReceipts = { json: Buffer.from('[]'), count: 0, logs: 0 };

/** The JSON of one block's logs and receipts, each piece rendered at most once while it is cached. */
export class RenderedBlock {
  readonly logs: BlockLogs;
  #pieces: (string | undefined)[] = [];
  /** Of a block that has grown: what was rendered of its receipts before, so that only those that are new are. */
  #before: RenderedReceipts | undefined;
  readonly #answers = new Map<string, Buffer>();
  /** Of a sealed block that was asked for single transactions or receipts: there are mostly more to come. */
  #contents: BlockReceipts | undefined;
  readonly #transactions = new Map<number, string>();
  readonly #blocks = new Map<Listing, Buffer>();
  #receipts: RenderedReceipts | undefined;
  #bytes: number;

  constructor(logs: BlockLogs) {
    this.logs = logs;
    this.#bytes = BASE_BYTES + logs.length * BYTES_PER_STORED_LOG;
  }

  /** The same block with more in it: what has been rendered stays. */
  grown(logs: BlockLogs): RenderedBlock {
    const next = new RenderedBlock(logs);
    next.#pieces = this.#pieces.slice();
    next.#before = this.#receipts ?? this.#before;
    return next;
  }

  /** What this entry holds, roughly. */
  get bytes(): number {
    return this.#bytes;
  }

  /** JSON of one log. */
  log(index: number): string {
    const known = this.#pieces[index];
    if (known !== undefined) return known;
    const text = renderLog(this.logs, index);
    this.#pieces[index] = text;
    this.#bytes += text.length;
    return text;
  }

  /** The JSON array of the logs that answer `query`. */
  logsJson(query: LogQuery, checkpoint?: Checkpoint): Awaitable<Buffer> {
    const key = queryKey(query);
    const known = key === undefined ? undefined : this.#answers.get(key);
    if (known !== undefined) return known;
    const matches = createMatcher(query);
    const texts: string[] = [];
    const render = (index: number): void => {
      if (matches(this.logs.log(index))) texts.push(this.log(index));
    };
    return andThen(forEachLog(this.logs, render, checkpoint), () => {
      const json = Buffer.from(`[${texts.join(',')}]`, 'latin1');
      if (key !== undefined && this.#answers.size < MAX_ANSWERS && !this.#answers.has(key)) {
        this.#answers.set(key, json);
        this.#bytes += json.length + key.length;
      }
      return json;
    });
  }

  /** The receipts of a sealed block as they were read before, if they were kept. */
  get contents(): BlockReceipts | undefined {
    return this.#contents;
  }

  /** Keeps the receipts that were read. */
  hold(contents: BlockReceipts): void {
    if (this.#contents === undefined) this.#bytes += contents.receipts.length * BYTES_PER_RECEIPT;
    this.#contents = contents;
  }

  /** The JSON of one transaction, if it has been rendered before. */
  transaction(index: number): string | undefined {
    return this.#transactions.get(index);
  }

  holdTransaction(index: number, json: string): void {
    if (!this.#transactions.has(index)) this.#bytes += json.length;
    this.#transactions.set(index, json);
  }

  /** The JSON of the block itself, if it has been rendered before. */
  block(listing: Listing): Buffer | undefined {
    return this.#blocks.get(listing);
  }

  holdBlock(listing: Listing, json: Buffer): void {
    if (!this.#blocks.has(listing)) this.#bytes += json.length;
    this.#blocks.set(listing, json);
  }

  /** The JSON array of receipts, if it has been rendered before. */
  get receipts(): Buffer | undefined {
    return this.#receipts?.json;
  }

  /** The JSON of one receipt; undefined where there is none of that number. */
  receipt({ receipts }: BlockReceipts, index: number): string | undefined {
    const receipt = receipts[index];
    if (receipt === undefined) return undefined;
    const first = receipts.slice(0, index).reduce((sum, { logCount }) => sum + logCount, 0);
    return this.#receiptText(receipt, index, first);
  }

  #receiptText(receipt: Receipt, index: number, firstLog: number): string {
    const logs: string[] = [];
    for (let at = firstLog; at < firstLog + receipt.logCount; at++) logs.push(this.log(at));
    return renderReceipt(this.logs, index, receipt, `[${logs.join(',')}]`);
  }

  /** Renders the JSON array of receipts. */
  renderReceipts(block: BlockReceipts): Awaitable<Buffer> {
    const known = this.#before?.logs ?? 0;
    const render = (index: number): void => {
      if (index >= known) this.log(index);
    };
    return andThen(forEachLog(this.logs, render), () => this.#joinReceipts(block));
  }

  #joinReceipts({ receipts }: BlockReceipts): Buffer {
    const before = this.#before ?? NO_RECEIPTS;
    let next = before.logs;
    const texts = receipts.slice(before.count).map((receipt, at) => {
      const first = next;
      next += receipt.logCount;
      return this.#receiptText(receipt, before.count + at, first);
    });
    const comma = before.count > 0 && texts.length > 0 ? ',' : '';
    const added = Buffer.from(`${comma}${texts.join(',')}]`, 'latin1');
    const json = Buffer.concat([before.json.subarray(0, -1), added]);
    this.#receipts = { json, count: receipts.length, logs: next };
    this.#before = undefined;
    this.#bytes += json.length;
    return json;
  }
}

/** Text that two queries share only if they ask the same; undefined for long ones. */
function queryKey({ addresses, topics }: LogQuery): string | undefined {
  let values = addresses.length;
  for (const position of topics) values += position.length;
  if (values > MAX_KEY_VALUES) return undefined;
  return [addresses, ...topics].map((position) => position.map(toHex).join()).join(';');
}

/** Rendered blocks by hash, bounded by bytes: a block never changes, so entries are never stale. */
export class RenderedBlocks {
  readonly #cache: LRUCache<Hex, RenderedBlock>;
  readonly #accounted = new WeakMap<RenderedBlock, number>();

  constructor(maxBytes: number) {
    this.#cache = new LRUCache({ maxSize: maxBytes, sizeCalculation: (block) => block.bytes });
  }

  get(hash: Hex): RenderedBlock | undefined {
    return this.#cache.get(hash);
  }

  /** Keeps `block`, or accounts for what it has rendered since it was kept. */
  keep(block: RenderedBlock): void {
    const size = block.bytes;
    if (this.#accounted.get(block) === size) return;
    this.#accounted.set(block, size);
    // The cache measures an entry only when it is new to it.
    this.#cache.delete(block.logs.hash);
    this.#cache.set(block.logs.hash, block);
  }
}
