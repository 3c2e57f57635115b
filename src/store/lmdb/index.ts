import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { AppendOptions, Marks, Pin, Store, StoreChanges } from '../interface.ts';
import type { LmdbStoreOptions } from './options.ts';
import { openParts, type StoreParts } from './parts.ts';
import { LmdbReader } from './read/reader.ts';
import { type StoreSizes, sizesOf } from './sizes.ts';
import { LmdbChanges } from './write/changes.ts';
import { ThreadChanges } from './write/thread-changes.ts';
import { StoreWriter, type WriterModules } from './write/writer.ts';

/** Opens an embedded store. Several threads may open one path; only one of them may write. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<LmdbStore> {
  const parts = await openParts(options);
  return new LmdbStore(parts, new LmdbChanges(parts));
}

/** The same with a thread that writes: reads are as ever, and no change keeps the caller from anything else. */
export async function openWrittenStore(
  options: LmdbStoreOptions,
  modules: WriterModules,
): Promise<LmdbStore> {
  const parts = await openParts(options);
  return new LmdbStore(parts, new ThreadChanges(new StoreWriter(options, modules)));
}

/** A store in one LMDB file: it reads by itself, and has its changes made by whoever makes them. */
export class LmdbStore extends LmdbReader implements Store {
  readonly #parts: StoreParts;
  readonly #changes: StoreChanges;

  constructor(parts: StoreParts, changes: StoreChanges) {
    super(parts);
    this.#parts = parts;
    this.#changes = changes;
  }

  setMeta(name: string, value: string): Promise<void> {
    return this.#changes.setMeta(name, value);
  }

  append(outcomes: readonly Outcome[], options?: AppendOptions): Promise<void> {
    return this.#changes.append(outcomes, options);
  }

  prepend(outcomes: readonly Outcome[]): Promise<void> {
    return this.#changes.prepend(outcomes);
  }

  pin(anchor: BlockRef, pins: readonly Pin[]): Promise<void> {
    return this.#changes.pin(anchor, pins);
  }

  revertTo(number: number): Promise<void> {
    return this.#changes.revertTo(number);
  }

  prune(below: number, limit: number): Promise<boolean> {
    return this.#changes.prune(below, limit);
  }

  indexTransactions(limit: number): Promise<boolean> {
    return this.#changes.indexTransactions(limit);
  }

  mark(marks: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void> {
    return this.#changes.mark(marks);
  }

  /** How large it is, what it may grow by, and how many changes behind the oldest of its readers is. */
  sizes(): StoreSizes {
    return sizesOf(this.#parts);
  }

  async close(): Promise<void> {
    await this.#changes.close();
    await this.#parts.tables.root.close();
  }
}
