import type { Marks } from '../store/interface.ts';
import { ChainReader, type ChainReaderModules, type ChainReaderOptions } from './chain-reader.ts';
import { Snapshot } from './snapshot.ts';

/** Gives out the current snapshot, and swaps it when the store has moved. */
export class Head {
  readonly #store: ChainReaderModules['store'];
  readonly #reader: ChainReader;
  #marks: Marks;
  /** Counts reorganisations seen; a snapshot of an older count must not be served from any more. */
  #lineage = 0;
  #snapshot: Snapshot;

  private constructor(marks: Marks, reader: ChainReader, store: ChainReaderModules['store']) {
    this.#store = store;
    this.#reader = reader;
    this.#marks = marks;
    this.#snapshot = this.#newSnapshot();
  }

  /** Opens the head of a store that holds at least one block. */
  static async open(options: ChainReaderOptions, modules: ChainReaderModules): Promise<Head> {
    const marks = await modules.store.marks();
    if (marks === undefined) throw new Error('the store holds no block yet: import or ingest a chain first');
    return new Head(marks, new ChainReader(options, modules), modules.store);
  }

  /** The newest snapshot; it never changes, take one per request. */
  snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** Reads the store's marks again; whoever writes the store or hears of a write calls this. */
  async refresh(): Promise<void> {
    const marks = await this.#store.marks();
    if (marks === undefined || sameMarks(marks, this.#marks)) return;
    const previous = this.#marks.head;
    const extended =
      marks.head.number >= previous.number &&
      (await this.#store.canonicalHash(previous.number)) === previous.hash;
    if (!extended) this.#lineage++;
    this.#marks = marks;
    this.#snapshot = this.#newSnapshot();
  }

  #newSnapshot(): Snapshot {
    const lineage = this.#lineage;
    return new Snapshot(this.#marks, this.#reader, () => lineage !== this.#lineage);
  }
}

function sameMarks(a: Marks, b: Marks): boolean {
  return (
    a.head.hash === b.head.hash &&
    a.safe.hash === b.safe.hash &&
    a.finalized.hash === b.finalized.hash &&
    a.anchor.hash === b.anchor.hash
  );
}
