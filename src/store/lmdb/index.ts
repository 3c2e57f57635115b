import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import { decodeReceipts } from '../../chain/receipt-codec.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import { Pace } from '../../primitives/pace.ts';
import { StoreError } from '../error.ts';
import type {
  AppendOptions,
  BlockLogs,
  BlockReceipts,
  LogMatch,
  LogQuery,
  Marks,
  Pin,
  StateEntry,
  Store,
} from '../interface.ts';
import type { WriteContext } from './block-rows.ts';
import { asStoreError, endHalfLine, expectRoom } from './disk-trouble.ts';
import { searchLogs } from './find-logs.ts';
import { blockKey, numberKey, trailingNumber } from './keys.ts';
import { reserveLockFile } from './lock-file.ts';
import {
  checkSchema,
  readLowest,
  readMarks,
  readOrCreateSeed,
  readPartial,
  readText,
  writeText,
} from './meta.ts';
import type { LmdbStoreOptions } from './options.ts';
import { prependBlocks } from './prepend.ts';
import { pruneHistory } from './prune.ts';
import { readLogs } from './read-logs.ts';
import { readState, scanEntries } from './read-state.ts';
import { storeFile } from './store-file.ts';
import { openTables, type Tables, tableBytes, usedBytes } from './tables.ts';
import { createPostingPrefix, type PostingPrefix } from './value-hash.ts';
import { appendBlocks, moveMarks, revertBlocks } from './write.ts';
import { pinValues } from './write-pins.ts';
import { StoreWriter, toSent, type WriterModules } from './writer.ts';

export const defaultUndoWindow = 256;
export const defaultMapSizeBytes = 2 ** 40;

/** Opens an embedded store. Several threads may open one path; only one of them may write. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<LmdbStore> {
  return new LmdbStore(await openParts(options));
}

/** The same with a thread that writes: reads are as ever, and no change keeps the caller from anything else. */
export async function openWrittenStore(options: LmdbStoreOptions, modules: WriterModules): Promise<Store> {
  const parts = await openParts(options);
  return new WrittenLmdbStore(parts, new StoreWriter(options, modules));
}

interface StoreParts {
  readonly path: string;
  readonly tables: Tables;
  readonly prefix: PostingPrefix;
  readonly undoWindow: number;
  readonly limit: number;
  readonly reserve: number;
  readonly readOnly: boolean;
}

async function openParts(options: LmdbStoreOptions): Promise<StoreParts> {
  const readOnly = options.readOnly ?? false;
  const limit = options.mapSizeBytes ?? defaultMapSizeBytes;
  if ((await storeFile(options.path)) === 'foreign') {
    throw new StoreError('corrupt', `data.mdb in ${options.path} is not a store`);
  }
  const {
    path,
    undoWindow = defaultUndoWindow,
    diskReserveBytes: reserve = 0,
    unsafeNoSync = false,
  } = options;
  try {
    reserveLockFile(path, readOnly);
    const tables = openTables({ path, mapSizeBytes: limit, readOnly, unsafeNoSync });
    checkSchema(tables);
    const prefix = await createPostingPrefix(readOrCreateSeed(tables, readOnly));
    return { path, tables, prefix, undoWindow, limit, reserve, readOnly };
  } catch (error) {
    throw asStoreError(error, path);
  }
}

/**
 * Reads are synchronous. Each public read starts a new snapshot: lmdb-js would else go on with one that is up to
 * a timer's tick old, and a thread told of a new head must see it.
 */
export class LmdbStore implements Store {
  readonly #path: string;
  readonly #reserve: number;
  readonly #tables: Tables;
  readonly #prefix: PostingPrefix;
  readonly #undoWindow: number;
  readonly #limit: number;
  readonly #readOnly: boolean;

  constructor(parts: StoreParts) {
    this.#path = parts.path;
    this.#reserve = parts.reserve;
    this.#tables = parts.tables;
    this.#prefix = parts.prefix;
    this.#undoWindow = parts.undoWindow;
    this.#limit = parts.limit;
    this.#readOnly = parts.readOnly;
  }

  getMeta(name: string): string | undefined {
    return readText(this.#snapshot(), name);
  }

  async setMeta(name: string, value: string): Promise<void> {
    this.#write(({ tables }) => {
      writeText(tables, name, value);
    });
  }

  async append(outcomes: readonly Outcome[], options: AppendOptions = {}): Promise<void> {
    // A store that is full can always begin anew.
    if (options.anew !== true) this.#checkSpace();
    this.#write((context) => {
      appendBlocks(context, outcomes, options);
    });
  }

  async prepend(outcomes: readonly Outcome[]): Promise<void> {
    this.#checkSpace();
    this.#write((context) => {
      prependBlocks(context, outcomes);
    });
  }

  async pin(anchor: BlockRef, pins: readonly Pin[]): Promise<void> {
    this.#write(({ tables }) => {
      pinValues(tables, anchor, pins);
    });
  }

  async revertTo(number: number): Promise<void> {
    this.#write((context) => {
      revertBlocks(context, number);
    });
  }

  async prune(below: number, limit: number): Promise<boolean> {
    return this.#write((context) => pruneHistory(context, below, limit));
  }

  async mark(marks: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void> {
    this.#write(({ tables }) => {
      moveMarks(tables, marks);
    });
  }

  marks(): Marks | undefined {
    return readMarks(this.#snapshot());
  }

  canonicalHash(number: number): Hex | undefined {
    return canonicalHash(this.#snapshot(), number);
  }

  numberOf(hash: Hex): number | undefined {
    const tables = this.#snapshot();
    const key = tables.numbers.getBinary(fromHex(hash));
    const number = key === undefined ? -1 : trailingNumber(key);
    return number >= readLowest(tables) ? number : undefined;
  }

  header(ref: BlockRef): Uint8Array | undefined {
    return this.#rowsOf(ref)?.headers.getBinary(blockKey(ref.number, ref.hash));
  }

  block(ref: BlockRef): Uint8Array | undefined {
    return this.#rowsOf(ref)?.blocks.getBinary(blockKey(ref.number, ref.hash));
  }

  receipts(ref: BlockRef): BlockReceipts | undefined {
    const tables = this.#rowsOf(ref);
    const bytes = tables?.receipts.getBinary(blockKey(ref.number, ref.hash));
    if (tables === undefined || bytes === undefined) return undefined;
    const logs = readLogs(tables, ref.number);
    if (logs === undefined)
      throw new StoreError('corrupt', `block ${ref.number} has receipts but no logs row`);
    return { receipts: decodeReceipts(bytes), logs };
  }

  blockLogs(ref: BlockRef): BlockLogs | undefined {
    const tables = this.#rowsOf(ref);
    const logs = tables && readLogs(tables, ref.number);
    return logs?.hash === ref.hash ? logs : undefined;
  }

  diffBytes(number: number): Uint8Array | undefined {
    return this.#snapshot().diffs.getBinary(numberKey(number));
  }

  /**
   * Runs in slices, each in a snapshot of its own, so that a slow reader holds none open. The hash of block `to`
   * stands for all blocks below it: it is checked before each slice, so one answer never mixes two forks.
   */
  async *findLogs(
    query: LogQuery,
    from: number,
    to: number,
    checkpoint: () => void = () => {},
  ): AsyncGenerator<LogMatch, void, undefined> {
    if (from > to) return;
    const tables = this.#snapshot();
    const marks = readMarks(tables);
    if (marks === undefined || from < marks.lowest.number || to > marks.head.number) {
      throw outOfRange(`blocks ${from} to ${to}`, marks);
    }
    const stillThere = this.#guard(to, () => {
      if (from < readLowest(tables)) throw outOfRange(`blocks ${from} to ${to}`, readMarks(tables));
    });
    const pace = new Pace();
    const search = searchLogs(tables, this.#prefix, query, [from, to], pace);
    for (;;) {
      const { value: matches, done } = search.next();
      yield* matches;
      if (done === true) return;
      await pace.rest();
      checkpoint();
      stillThere();
    }
  }

  loadState(keys: readonly StateKey[], number: number, of?: BlockRef): (Uint8Array | undefined)[] {
    const tables = this.#snapshot();
    checkState(tables, number);
    if (of !== undefined && canonicalHash(tables, of.number) !== of.hash) {
      throw new StoreError('reorganised', `block ${of.number} ${of.hash} is not canonical`);
    }
    return readState(tables, keys, number, readPartial(tables));
  }

  async *scanState(number: number): AsyncGenerator<StateEntry, void, undefined> {
    const tables = this.#snapshot();
    checkState(tables, number);
    const stillThere = this.#guard(number, () => {
      checkState(tables, number);
    });
    yield* scanEntries(tables, number, stillThere);
  }

  /** Bytes of the file in use. */
  usedBytes(): number {
    return usedBytes(this.#tables);
  }

  /** Bytes of each table. */
  tableBytes(): Record<string, number> {
    return tableBytes(this.#snapshot());
  }

  async close(): Promise<void> {
    await this.#tables.root.close();
  }

  #snapshot(): Tables {
    this.#tables.root.resetReadTxn();
    return this.#tables;
  }

  /** A new snapshot, unless the block is below the lowest: its rows may be half deleted. */
  #rowsOf(ref: BlockRef): Tables | undefined {
    const tables = this.#snapshot();
    return ref.number >= readLowest(tables) ? tables : undefined;
  }

  /**
   * Starts a new snapshot and throws when `check` does, or when block `number` is not the one it was when the guard
   * was made. What was pruned comes first: nobody can say if it is canonical.
   */
  #guard(number: number, check: () => void): () => void {
    const expected = canonicalHash(this.#tables, number);
    return () => {
      const tables = this.#snapshot();
      check();
      if (canonicalHash(tables, number) !== expected) {
        throw new StoreError('reorganised', `block ${number} ${expected} is no longer canonical`);
      }
    };
  }

  #checkSpace(): void {
    const used = usedBytes(this.#tables);
    if (used >= this.#limit) {
      throw new StoreError(
        'full',
        `the store holds ${used} bytes and its limit (map size) is ${this.#limit}: raise it`,
      );
    }
  }

  /**
   * The one way to change anything. Writers of several processes take turns, since LMDB has one write transaction at
   * a time: a change must read all that it decides by from inside, and nothing is remembered between two.
   */
  #write<T>(change: (context: WriteContext) => T): T {
    if (this.#readOnly) throw new StoreError('readOnly', 'the store is open for reading only');
    const context = { tables: this.#tables, prefix: this.#prefix, undoWindow: this.#undoWindow };
    expectRoom(this.#path, this.#reserve);
    try {
      return this.#tables.root.transactionSync(() => change(context));
    } catch (error) {
      const known = asStoreError(error, this.#path);
      if (known !== error) endHalfLine(error);
      throw known;
    }
  }
}

/** A store whose changes are made by a thread of its own. */
class WrittenLmdbStore extends LmdbStore {
  readonly #writer: StoreWriter;

  constructor(parts: StoreParts, writer: StoreWriter) {
    super(parts);
    this.#writer = writer;
  }

  override async setMeta(name: string, value: string): Promise<void> {
    await this.#writer.change('setMeta', [name, value]);
  }

  override async append(outcomes: readonly Outcome[], options: AppendOptions = {}): Promise<void> {
    await this.#writer.change('append', [outcomes.map(toSent), options]);
  }

  override async prepend(outcomes: readonly Outcome[]): Promise<void> {
    await this.#writer.change('prepend', [outcomes.map(toSent)]);
  }

  override async pin(anchor: BlockRef, pins: readonly Pin[]): Promise<void> {
    await this.#writer.change('pin', [anchor, pins]);
  }

  override async revertTo(number: number): Promise<void> {
    await this.#writer.change('revertTo', [number]);
  }

  override async prune(below: number, limit: number): Promise<boolean> {
    return (await this.#writer.change('prune', [below, limit])) as boolean;
  }

  override async mark(marks: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void> {
    await this.#writer.change('mark', [marks]);
  }

  override async close(): Promise<void> {
    await this.#writer.close();
    await super.close();
  }
}

function canonicalHash(tables: Tables, number: number): Hex | undefined {
  if (number < readLowest(tables)) return undefined;
  const hash = tables.canonical.getBinary(numberKey(number));
  return hash === undefined ? undefined : toHex(hash);
}

function checkState(tables: Tables, number: number): void {
  const marks = readMarks(tables);
  if (marks === undefined || number < marks.anchor.number || number > marks.head.number) {
    throw outOfRange(`state of block ${number}`, marks);
  }
}

function outOfRange(what: string, marks: Marks | undefined): StoreError {
  const held =
    marks === undefined
      ? 'nothing yet'
      : `blocks ${marks.lowest.number} to ${marks.head.number} and state from ${marks.anchor.number} on`;
  return new StoreError('outOfRange', `${what} not available: the store holds ${held}`);
}
