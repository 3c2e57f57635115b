import type { BlockRef, Outcome } from '../../../chain/outcome.ts';
import type { Hex } from '../../../primitives/hex.ts';
import { Turns } from '../../../primitives/turns.ts';
import { isUnavailable, StoreError } from '../../error.ts';
import type { AppendOptions, Marks, Pin, StoreChanges } from '../../interface.ts';
import { checkLinks, movedMarks } from '../../marks.ts';
import { blockStatements, linkStatement, readLinks, readOutcome } from '../bodies.ts';
import { nameStatements, readHash } from '../index-rows.ts';
import { postingStatements, rowEnd, rowStart } from '../logs/posting-rows.ts';
import { CQL_DEFAULTS, type CqlStoreOptions } from '../options.ts';
import type { CqlReader } from '../reader.ts';
import { copyOf, digestOf, type Root, type RootRow } from '../root.ts';
import type { Session, Statement } from '../session.ts';
import { refOf } from '../tail.ts';
import { steadyMs, type View } from '../view.ts';
import { type IndexTarget, indexBlocks } from './index-blocks.ts';
import { beginning, withoutAbove, withoutBelow } from './next-root.ts';
import { writePins } from './pins.ts';
import { deleteHistory } from './prune.ts';

/** How often a writer shows that it is alive, while a lease lasts. */
const BEATS_A_LEASE = 4;
/** Changes that may wait for each other. */
const MAX_WAITING = 10_000;

export interface ChangesModules {
  readonly session: Session;
  readonly row: RootRow;
  readonly view: View;
  readonly reader: CqlReader;
  /** Hears why the index does not go on, and that another has taken over. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Changes a chain as its one writer: rows first, which nobody sees; then the root row, which shows them. The index follows behind, a row
 * of blocks at a time.
 */
export class CqlChanges implements StoreChanges {
  /** For how long blocks waited because too much was left to the index. */
  heldBackMs = 0;
  readonly #options: CqlStoreOptions;
  readonly #modules: ChangesModules;
  readonly #turns = new Turns(MAX_WAITING);
  readonly #indexLag: number;
  readonly #maxTail: number;
  readonly #graceMs: number;
  readonly #beats: NodeJS.Timeout;
  #beating: Promise<void> | undefined;
  #indexing: Promise<void> | undefined;
  #closed = false;
  #lastChange = performance.now();
  /** Before this time, the index stays as it is: who does not know yet that blocks were taken off may look for their rows. */
  #indexFrom = 0;
  /** What was hidden by pruning, and from when on its rows may go. */
  readonly #hidden: { readonly below: number; readonly deletedFrom: number }[];

  constructor(options: CqlStoreOptions, modules: ChangesModules) {
    this.#options = options;
    this.#modules = modules;
    this.#indexLag = options.indexLag ?? CQL_DEFAULTS.indexLag;
    this.#maxTail = options.maxTail ?? CQL_DEFAULTS.maxTail;
    this.#graceMs = options.graceMs ?? CQL_DEFAULTS.graceMs;
    // What was hidden before this process began may be looked for as well.
    const lowest = modules.view.shown?.marks.lowest.number ?? 0;
    this.#hidden = [{ below: lowest, deletedFrom: performance.now() + this.#graceMs }];
    const beatMs = (options.leaseMs ?? CQL_DEFAULTS.leaseMs) / BEATS_A_LEASE;
    this.#beats = setInterval(() => this.#beat(beatMs), beatMs);
  }

  async setMeta(name: string, value: string): Promise<void> {
    const query = 'INSERT INTO texts (chain, name, value) VALUES (?, ?, ?) USING TIMESTAMP ?';
    const { session, row } = this.#modules;
    await session.write([{ query, values: [this.#options.chain, name, value, row.nextTime()] }]);
  }

  append(outcomes: readonly Outcome[], options: AppendOptions = {}): Promise<void> {
    // The index needs its turn to go on: it is waited for outside of this one.
    return this.#turn(() => this.#append(outcomes, options)).then(() => this.#keepUp());
  }

  prepend(outcomes: readonly Outcome[]): Promise<void> {
    return this.#turn(() => this.#prepend(outcomes));
  }

  pin(anchor: BlockRef, pins: readonly Pin[]): Promise<void> {
    return this.#turn(async () => {
      const root = this.#modules.view.shown;
      const held = root?.marks.anchor;
      if (root === undefined || held?.number !== anchor.number || held.hash !== anchor.hash)
        throw new StoreError('conflict', `block ${anchor.number} ${anchor.hash} is not the anchor`);
      await writePins(this.#modules.session, root, pins, this.#modules.row.nextTime());
    });
  }

  revertTo(number: number): Promise<void> {
    return this.#turn(() => this.#append([], { onto: number }));
  }

  prune(below: number, limit: number): Promise<boolean> {
    return this.#turn(() => this.#prune(below, limit));
  }

  async indexTransactions(): Promise<boolean> {
    return false;
  }

  mark(moved: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void> {
    return this.#turn(async () => {
      const root = this.#modules.view.shown;
      if (root === undefined) throw new StoreError('conflict', 'cannot mark a block of an empty store');
      for (const ref of [moved.safe, moved.finalized]) {
        if (ref !== undefined && (await this.#findHash(ref.number)) !== ref.hash)
          throw new StoreError(
            'conflict',
            `cannot mark block ${ref.number} ${ref.hash}: it is not canonical`,
          );
      }
      await this.#commit({ ...root, marks: movedMarks(root.marks, moved) });
    });
  }

  /** Resolves once everything is indexed that can be. */
  async indexed(): Promise<void> {
    while (this.#indexing !== undefined) await this.#indexing;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#beats);
    await this.#beating;
    await this.#turns.take(async () => {});
    await this.#indexing;
    // Where that cannot be said, its lease runs out by itself.
    await this.#modules.row.release().catch(
      unlessUnavailable((error) => {
        throw error;
      }),
    );
  }

  /** Makes a change when its turn comes, and what became of the one before is known. */
  #turn<T>(change: () => Promise<T>): Promise<T> {
    return this.#turns.take(async () => {
      await this.#modules.row.settle();
      return change();
    });
  }

  async #append(outcomes: readonly Outcome[], options: AppendOptions): Promise<void> {
    const { session, row, view } = this.#modules;
    const before = options.reanchor === true ? this.#forgotten() : view.shown;
    const { undo = this.#options.undoWindow ?? CQL_DEFAULTS.undoWindow } = options;
    const base =
      options.onto === undefined ? before : await withoutAbove(before, options.onto, this.#findHash);
    checkLinks(base?.marks.head, outcomes);
    const [first, last] = [outcomes[0], outcomes.at(-1)];
    const start = base ?? (first && beginning(first, options.partial ?? false));
    if (start === undefined) {
      if (options.pins !== undefined)
        throw new StoreError('conflict', 'an empty store has no anchor to pin values of');
      return;
    }
    const copy = copyOf(start);
    const time = row.nextTime();
    const statements = outcomes.flatMap((outcome) => [
      linkStatement(copy, outcome, time),
      ...blockStatements(copy, outcome, { time, diff: true }),
    ]);
    await session.write(statements);
    await writePins(session, start, options.pins ?? [], row.nextTime());
    const { byDiffs } = start.marks;
    const newByDiffs = byDiffs ?? (first && options.byDiffs);
    const root: Root = {
      ...start,
      marks: {
        ...start.marks,
        ...(last && { head: refOf(last) }),
        ...(newByDiffs && { byDiffs: newByDiffs }),
      },
      settled: last ? Math.max(start.settled, last.number - undo) : start.settled,
      // One that is left over fits no other block, which is read then.
      digest: last ? digestOf(last) : start.digest,
      wipes: start.wipes || outcomes.some(({ diff }) => diff.wiped.length > 0),
    };
    const back = options.onto === undefined ? [] : await this.#reloaded(root, options.onto);
    await this.#committing(root, () => this.#show(root, options.onto, [...back, ...outcomes]));
  }

  /** Shows a change of the head: in one turn, so that nobody sees half of it. */
  #show(root: Root, onto: number | undefined, blocks: readonly Outcome[]): void {
    const { view } = this.#modules;
    const { tail, shown: before } = view;
    if (before !== undefined && before.copy !== root.copy) {
      tail.revertTo(-1);
      this.#hidden.length = 0;
    } else if (onto !== undefined) {
      view.reverted(onto);
      tail.revertTo(onto);
      // Who does not know yet may look for what the index says of blocks above.
      if (root.indexed < (before?.indexed ?? 0)) this.#indexFrom = performance.now() + this.#graceMs;
    }
    view.show(root);
    for (const block of blocks) tail.push(block);
    this.#indexBehind();
  }

  /** A chain that begins anew; refused over history that was prepended. */
  #forgotten(): undefined {
    const marks = this.#modules.view.shown?.marks;
    if (marks !== undefined && marks.lowest.number < marks.anchor.number)
      throw new StoreError('conflict', `history from block ${marks.lowest.number} on would be lost`);
  }

  /** Blocks that were indexed and will be again, since some above them in their row are taken off. */
  async #reloaded(root: Root, onto: number): Promise<Outcome[]> {
    const { session, view } = this.#modules;
    const indexedBefore = view.shown?.indexed ?? root.indexed;
    const to = Math.min(onto, indexedBefore);
    if (to <= root.indexed) return [];
    const copy = copyOf(root);
    const links = await readLinks(session, copy, root.indexed + 1, to);
    const blocks: Outcome[] = [];
    for (let number = root.indexed + 1; number <= to; number++) {
      const hash = await readHash(session, copy, number);
      const link = links.find((candidate) => candidate.number === number && candidate.hash === hash);
      if (link === undefined) throw new StoreError('corrupt', `block ${number} is not linked`);
      blocks.push(await readOutcome(session, copy, link));
    }
    return blocks;
  }

  async #prepend(outcomes: readonly Outcome[]): Promise<void> {
    const { session, row, view } = this.#modules;
    const root = view.shown;
    const [first, last] = [outcomes[0], outcomes.at(-1)];
    if (root === undefined) throw new StoreError('conflict', 'cannot prepend to an empty store');
    if (first === undefined) return;
    checkLinks(undefined, outcomes);
    const { lowest } = root.marks;
    if (last?.number !== lowest.number - 1 || last.hash !== root.parent) {
      const parent = `block ${last?.number} ${last?.hash}`;
      throw new StoreError('conflict', `${parent} is not the parent of the lowest held, ${lowest.number}`);
    }
    const copy = copyOf(root);
    const time = row.nextTime();
    const statements: Statement[] = outcomes.flatMap((outcome) => [
      ...blockStatements(copy, outcome, { time, diff: false }),
      ...nameStatements(copy, outcome, time),
    ]);
    for (const blocks of byRow(outcomes)) statements.push(...postingStatements(copy, blocks, time));
    await session.write(statements);
    await this.#commit({
      ...root,
      marks: { ...root.marks, lowest: refOf(first) },
      parent: first.parentHash,
      pruned: Math.min(root.pruned, first.number),
    });
  }

  async #prune(below: number, limit: number): Promise<boolean> {
    const { view, reader } = this.#modules;
    const floor = reader.undoFloor();
    const before = view.shown;
    if (before === undefined || floor === undefined || below > floor) {
      const why = `blocks above ${floor} can be reverted`;
      throw new StoreError('outOfRange', `cannot prune up to block ${below}: ${why}`);
    }
    if (below > before.marks.lowest.number) {
      await this.#commit(await withoutBelow(before, below, this.#findHash));
      this.#hidden.push({ below, deletedFrom: performance.now() + this.#graceMs });
    }
    const root = view.shown ?? before;
    // What is not indexed is not deleted: it is still to be read from memory.
    const end = rowStart(Math.min(this.#deletableBelow(), root.marks.lowest.number, root.indexed + 1));
    const pruned = await deleteHistory(this.#target(root), root, end, limit);
    if (pruned !== root.pruned) await this.#commit({ ...root, pruned });
    return pruned < end;
  }

  /** Blocks below have been hidden for so long that nobody looks for their rows any more. */
  #deletableBelow(): number {
    const now = performance.now();
    const last = this.#hidden.findLastIndex(({ deletedFrom }) => deletedFrom <= now);
    // Those before it are of no more use.
    if (last > 0) this.#hidden.splice(0, last);
    return last < 0 ? 0 : (this.#hidden[0]?.below ?? 0);
  }

  readonly #findHash = (number: number): Promise<Hex | undefined> =>
    this.#modules.reader.canonicalHash(number);

  async #commit(root: Root): Promise<void> {
    const { view } = this.#modules;
    await this.#committing(root, () => {
      view.show(root);
      view.tail.dropTo(root.indexed);
    });
  }

  /** Whoever can change the row has its place still: what it shows is how things are. */
  async #committing(root: Root | undefined, show: () => void): Promise<void> {
    const { row, view } = this.#modules;
    const asked = steadyMs();
    await row.commit(root, show);
    this.#lastChange = performance.now();
    view.confirm(asked);
  }

  /** Shows that this writer is alive, where nothing else did. */
  #beat(beatMs: number): void {
    this.#indexBehind();
    if (this.#beating !== undefined || performance.now() - this.#lastChange < beatMs) return;
    const { view, onFailure } = this.#modules;
    this.#beating = this.#turn(() => this.#committing(view.shown, () => {}))
      // Servers that do not answer may do so again; a place that is lost is not given back.
      .catch(unlessUnavailable(onFailure))
      .finally(() => {
        this.#beating = undefined;
      });
  }

  /** Waits for the index while too much is left to it. */
  async #keepUp(): Promise<void> {
    const began = performance.now();
    while (this.#modules.view.tail.length > this.#maxTail && this.#indexing !== undefined)
      await this.#indexing;
    this.heldBackMs += performance.now() - began;
  }

  #target(root: Root): IndexTarget {
    const { session, row } = this.#modules;
    const atOnce = this.#options.indexWritesAtOnce ?? CQL_DEFAULTS.indexWritesAtOnce;
    return { session, copy: copyOf(root), nextTime: () => row.nextTime(), atOnce };
  }

  /** Indexes what is due, unless that is being done. */
  #indexBehind(): void {
    if (this.#indexing !== undefined || this.#closed) return;
    this.#indexing = this.#index()
      // It is tried again with the next sign of life.
      .catch(unlessUnavailable(this.#modules.onFailure))
      .finally(() => {
        this.#indexing = undefined;
      });
  }

  async #index(): Promise<void> {
    const { view } = this.#modules;
    for (;;) {
      const root = view.shown;
      if (root === undefined || this.#closed) return;
      const from = root.indexed + 1;
      const to = rowEnd(from);
      if (to > root.marks.head.number - this.#indexLag) return;
      if (performance.now() < this.#indexFrom) return;
      const blocks = view.tail.blocks.filter(({ number }) => number >= from && number <= to);
      const last = blocks.at(-1);
      await indexBlocks(this.#target(root), blocks);
      await this.#turn(async () => {
        const now = view.shown;
        // Taken off meanwhile: they are indexed again, and these rows go then.
        if (now?.copy !== root.copy || last === undefined || view.tail.at(to)?.hash !== last.hash) return;
        await this.#commit({ ...now, indexed: to });
      });
    }
  }
}

/** Hears of all failures but that servers did not answer, who may do so again. */
function unlessUnavailable(hear: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    if (!isUnavailable(error)) hear(error);
  };
}

/** Ascending blocks, by the row of postings that they share. */
function byRow(outcomes: readonly Outcome[]): Iterable<Outcome[]> {
  return Map.groupBy(outcomes, ({ number }) => rowStart(number)).values();
}
