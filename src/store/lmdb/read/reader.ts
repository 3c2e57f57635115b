import type { BlockRef } from '../../../chain/outcome.ts';
import { decodeReceipts } from '../../../chain/receipt-codec.ts';
import type { StateKey } from '../../../chain/state-key.ts';
import { fromHex, type Hex, toHex } from '../../../primitives/hex.ts';
import { Pace } from '../../../primitives/pace.ts';
import { StoreError } from '../../error.ts';
import type {
  BlockLogs,
  BlockReceipts,
  LogMatch,
  LogQuery,
  Marks,
  StateEntry,
  StateVersion,
  StoreReader,
  TransactionPlace,
} from '../../interface.ts';
import { outOfRange } from '../../marks.ts';
import { blockKey, numberKey, trailingNumber } from '../keys.ts';
import { searchLogs } from '../logs/find-logs.ts';
import { readLogs } from '../logs/read-logs.ts';
import { readIndexedFrom, readLowest, readMarks, readPartial, readText, readUndoFloor } from '../meta.ts';
import type { StoreParts } from '../parts.ts';
import { type Tables, tableBytes, usedBytes } from '../tables.ts';
import { findTransaction } from '../transaction-index.ts';
import type { PostingPrefix } from '../value-hash.ts';
import { readState, scanEntries } from './state.ts';
import { versionsBetween } from './versions.ts';

/**
 * Reads are synchronous. Each public read starts a new snapshot: lmdb-js would else go on with one that is up to
 * a timer's tick old, and a thread told of a new head must see it.
 */
export class LmdbReader implements StoreReader {
  readonly #tables: Tables;
  readonly #prefix: PostingPrefix;

  constructor({ tables, prefix }: Pick<StoreParts, 'tables' | 'prefix'>) {
    this.#tables = tables;
    this.#prefix = prefix;
  }

  getMeta(name: string): string | undefined {
    return readText(this.#snapshot(), name);
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

  transaction(hash: Hex): TransactionPlace | undefined {
    return findTransaction(this.#snapshot(), hash);
  }

  transactionsFrom(): number | undefined {
    const tables = this.#snapshot();
    const marks = readMarks(tables);
    return marks && Math.max(marks.lowest.number, readIndexedFrom(tables) ?? marks.head.number + 1);
  }

  undoFloor(): number | undefined {
    const tables = this.#snapshot();
    const marks = readMarks(tables);
    return marks && readUndoFloor(tables, marks);
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

  isComplete(): boolean {
    const tables = this.#snapshot();
    return readMarks(tables) !== undefined && !readPartial(tables);
  }

  async *scanState(number: number): AsyncGenerator<StateEntry, void, undefined> {
    const tables = this.#snapshot();
    checkState(tables, number);
    const stillThere = this.#guard(number, () => {
      checkState(tables, number);
    });
    yield* scanEntries(tables, number, stillThere);
  }

  async *scanVersions(from: number, to: number): AsyncGenerator<StateVersion, void, undefined> {
    const tables = this.#snapshot();
    const check = (): void => {
      checkState(tables, from);
      checkState(tables, to);
    };
    check();
    yield* versionsBetween(tables, { from, to, partial: readPartial(tables) }, this.#guard(to, check));
  }

  /** Bytes of the file in use. */
  usedBytes(): number {
    return usedBytes(this.#tables);
  }

  /** Bytes of each table. */
  tableBytes(): Record<string, number> {
    return tableBytes(this.#snapshot());
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
