import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { join } from 'node:path';
import type { Outcome } from '../../src/chain/outcome.ts';
import { NativeExecutor, readHeader } from '../../src/executor/native-executor.ts';
import { restoreHotState } from '../../src/follow/state/restore.ts';
import type { LogQuery, Store } from '../../src/store/interface.ts';
import { openLmdbStore } from '../../src/store/lmdb/index.ts';
import { writeIdentity } from '../../src/store/lmdb/meta.ts';
import { openTables, type Tables } from '../../src/store/lmdb/tables.ts';
import { createMemoryStore } from '../../src/store/memory/index.ts';
import { storeLoader } from '../../src/store/state-loader.ts';
import { executeOfficialChain, loadFrom, officialGenesis, roomyOptions } from '../support/serve/executor.ts';
import { type TempDir, tempDir } from '../support/servers/process.ts';
import {
  describeBlock,
  describeRows,
  describeView,
  findAll,
  queriesOf,
  type Subjects,
  subjectsOf,
} from './observe.ts';

/** The head of the official chain. */
export const LAST = 54;
const mapSizeBytes = 2 ** 30;

/** What the run that never went back says, at every block. */
export interface Truth {
  readonly outcomes: readonly Outcome[];
  readonly subjects: Subjects;
  readonly queries: readonly LogQuery[];
  readonly blocks: readonly string[];
  readonly views: readonly string[];
  readonly found: readonly (readonly (readonly number[])[])[];
  readonly rows: readonly Record<string, string>[];
}

export type Step =
  | { readonly kind: 'revert'; readonly to: number }
  | { readonly kind: 'apply'; readonly to: number; readonly batch: number }
  /** A new process: hot state is restored from the store, with this window and this much room. */
  | { readonly kind: 'restart'; readonly window: number; readonly entries: number };

export interface Subject {
  readonly store: Store;
  /** Of an LMDB store. */
  readonly tables?: Tables;
  close(): Promise<void>;
}

export async function openLmdb(): Promise<Subject> {
  const dir: TempDir = await tempDir('unwind');
  const path = join(dir.path, 'store');
  const tables = openTables({ path, mapSizeBytes, readOnly: false, unsafeNoSync: true });
  // Postings are kept under seeded hashes: with one seed, the rows of two stores can be compared.
  writeIdentity(tables, Buffer.alloc(8, 7));
  const store = await openLmdbStore({ path, mapSizeBytes, unsafeNoSync: true });
  return {
    store,
    tables,
    async close() {
      await store.close();
      await tables.root.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

export async function openMemory(): Promise<Subject> {
  const store = createMemoryStore();
  return { store, close: () => store.close() };
}

/** Only `safe`: what is final cannot be taken off. */
async function markHead(store: Store): Promise<void> {
  const marks = await store.marks();
  if (marks !== undefined) await store.mark({ safe: marks.head });
}

export async function learnTruth(): Promise<Truth> {
  const outcomes = await executeOfficialChain();
  const subjects = subjectsOf(outcomes);
  const queries = queriesOf(outcomes);
  const subject = await openLmdb();
  try {
    const { store, tables } = subject;
    const rows: Record<string, string>[] = [];
    for (const outcome of outcomes) {
      await store.append([outcome]);
      await markHead(store);
      if (tables !== undefined) rows.push(describeRows(tables));
    }
    const { text, config } = officialGenesis();
    const executor = NativeExecutor.create(config, roomyOptions, { load: loadFrom(outcomes) });
    executor.startAtGenesis(text);
    for (const { block } of outcomes.slice(1)) await executor.execute(block);
    return {
      outcomes,
      subjects,
      queries,
      rows,
      blocks: await mapAsync(outcomes, ({ number }) => describeBlock(store, number)),
      views: await mapAsync(outcomes, ({ header }) => describeView(executor.view(header), subjects)),
      found: await mapAsync(queries, (query) => findAll(store, query, LAST)),
    };
  } finally {
    await subject.close();
  }
}

async function mapAsync<T, U>(items: readonly T[], map: (item: T) => Promise<U>): Promise<U[]> {
  const mapped: U[] = [];
  for (const item of items) mapped.push(await map(item));
  return mapped;
}

/** A store and an executor that take steps together. */
export class UnwindingNode {
  readonly #truth: Truth;
  readonly #subject: Subject;
  #executor: NativeExecutor;
  #oldest = 0;
  #window = roomyOptions.window;
  head = 0;

  private constructor(truth: Truth, subject: Subject, executor: NativeExecutor) {
    this.#truth = truth;
    this.#subject = subject;
    this.#executor = executor;
  }

  static async atGenesis(truth: Truth, subject: Subject): Promise<UnwindingNode> {
    const { text, config } = officialGenesis();
    const executor = NativeExecutor.create(config, roomyOptions, { load: storeLoader(subject.store) });
    await subject.store.append([executor.startAtGenesis(text)]);
    await markHead(subject.store);
    return new UnwindingNode(truth, subject, executor);
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'revert':
        return this.revertTo(Math.min(step.to, this.head));
      case 'apply':
        return this.applyTo(step.to, step.batch);
      case 'restart':
        return this.#restart(step.window, step.entries);
    }
  }

  async revertTo(number: number): Promise<void> {
    const { store } = this.#subject;
    await store.revertTo(number);
    this.head = number;
    // Hot state that was restored reaches back only so far: below, a node starts again from its store.
    if (number < this.#oldest) await this.#restart(roomyOptions.window, roomyOptions.entries);
    else this.#executor.revertTo(number);
    await this.#loadCommitment();
  }

  async applyTo(last: number, batchSize: number): Promise<void> {
    const { store } = this.#subject;
    while (this.head < last) {
      const blocks = this.#truth.outcomes.slice(this.head + 1, Math.min(last, this.head + batchSize) + 1);
      await store.append(await mapAsync(blocks, ({ block }) => this.#executor.execute(block)));
      this.head += blocks.length;
    }
    this.#oldest = Math.max(this.#oldest, this.head - this.#window + 1);
    await markHead(store);
  }

  /** Executes a block that must be refused. */
  execute(block: Uint8Array): Promise<Outcome> {
    return this.#executor.execute(block);
  }

  async #restart(window: number, entries: number): Promise<void> {
    const { store } = this.#subject;
    const options = { ...roomyOptions, window, entries };
    this.#executor = NativeExecutor.create(officialGenesis().config, options, { load: storeLoader(store) });
    await restoreHotState(this.#executor, store, window);
    this.#window = window;
    this.#oldest = Math.max(0, this.head - window + 1);
    await this.#loadCommitment();
  }

  /** From here on state roots are verified again, as in every run from genesis. */
  async #loadCommitment(): Promise<void> {
    const root = await this.#executor.loadCommitment(this.#subject.store.scanState(this.head));
    strictEqual(root, readHeader(this.#truth.outcomes[this.head]?.header ?? new Uint8Array()).stateRoot);
  }

  async expectTruth(blocks: readonly number[]): Promise<void> {
    const { store, tables } = this.#subject;
    const { outcomes, subjects, queries } = this.#truth;
    const head = { number: this.head, hash: outcomes[this.head]?.hash };
    const anchor = { number: 0, hash: outcomes[0]?.hash };
    deepStrictEqual(await store.marks(), { lowest: anchor, anchor, head, safe: head, finalized: undefined });
    if (tables !== undefined) deepStrictEqual(describeRows(tables), this.#truth.rows[this.head]);
    for (let number = 0; number <= this.head; number++) {
      strictEqual(await describeBlock(store, number), this.#truth.blocks[number]);
    }
    for (let above = this.head + 1; above <= LAST; above++) {
      strictEqual(await store.canonicalHash(above), undefined);
      strictEqual(await store.diffBytes(above), undefined);
      strictEqual(await store.numberOf(outcomes[above]?.hash ?? '0x'), undefined);
    }
    for (const [index, query] of queries.entries()) {
      const expected = this.#truth.found[index]?.filter(([block = 0]) => block <= this.head);
      deepStrictEqual(await findAll(store, query, this.head), expected);
    }
    for (const number of new Set([0, this.head, ...blocks.filter((block) => block <= this.head)])) {
      const view = this.#executor.view(outcomes[number]?.header ?? new Uint8Array());
      strictEqual(await describeView(view, subjects), this.#truth.views[number]);
    }
  }
}
