import type { BlockRef, Outcome } from '../../../chain/outcome.ts';
import { StoreError } from '../../error.ts';
import type { AppendOptions, Marks, Pin, StoreChanges } from '../../interface.ts';
import { writeText } from '../meta.ts';
import type { StoreParts } from '../parts.ts';
import { usedBytes } from '../tables.ts';
import { indexOlder } from '../transaction-index.ts';
import { appendBlocks, moveMarks, revertBlocks } from './append.ts';
import type { WriteContext } from './block-rows.ts';
import { asStoreError, endHalfLine, expectRoom } from './disk-trouble.ts';
import { pinValues } from './pins.ts';
import { prependBlocks } from './prepend.ts';
import { pruneHistory } from './prune.ts';

/** Changes that this thread makes, each in one transaction that ends before it returns. */
export class LmdbChanges implements StoreChanges {
  readonly #parts: StoreParts;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  async setMeta(name: string, value: string): Promise<void> {
    this.#write(({ tables }) => {
      writeText(tables, name, value);
    });
  }

  async append(outcomes: readonly Outcome[], options: AppendOptions = {}): Promise<void> {
    // A store that is full can always re-anchor.
    if (options.reanchor !== true) this.#checkSpace();
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

  async indexTransactions(limit: number): Promise<boolean> {
    return this.#write(({ tables }) => indexOlder(tables, limit));
  }

  async mark(marks: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void> {
    this.#write(({ tables }) => {
      moveMarks(tables, marks);
    });
  }

  /** There is nothing under way once a change has returned. */
  async close(): Promise<void> {}

  #checkSpace(): void {
    const { tables, limit } = this.#parts;
    const used = usedBytes(tables);
    if (used >= limit) {
      throw new StoreError(
        'full',
        `the store holds ${used} bytes and its limit (map size) is ${limit}: raise it`,
      );
    }
  }

  /**
   * The one way to change anything. Writers of several processes take turns, since LMDB has one write transaction at
   * a time: a change must read all that it decides by from inside, and nothing is remembered between two.
   */
  #write<T>(change: (context: WriteContext) => T): T {
    const { path, tables, prefix, undoWindow, reserve, readOnly } = this.#parts;
    if (readOnly) throw new StoreError('readOnly', 'the store is open for reading only');
    const context = { tables, prefix, undoWindow };
    expectRoom(path, reserve);
    try {
      return tables.root.transactionSync(() => change(context));
    } catch (error) {
      const known = asStoreError(error, path);
      if (known !== error) endHalfLine(error);
      throw known;
    }
  }
}
