import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StateDiff } from '../../chain/diff.ts';
import { encodeDiff } from '../../chain/diff-codec.ts';
import type { Outcome } from '../../chain/outcome.ts';
import type { Pin, Store, StoreReader } from '../../store/interface.ts';
import { RESTORING_META } from '../../store/restoring.ts';
import { entryName, readEntries, readOutcomes, type StartEntry } from './codec.ts';
import { SnapshotError } from './error.ts';
import type { SnapshotFolder } from './folder.ts';
import { type HistoryRef, historyOf, type Manifest, type SegmentRef, sealOf } from './manifest.ts';
import { readTexts } from './texts.ts';

/** Pins that are written together. */
const PIN_BATCH = 2_000;

/** Checks what a snapshot says, beyond its hashes. */
export interface Prover {
  /** The block with all that its header commits to; throws when the snapshot says otherwise. */
  block(outcome: Outcome): Outcome;
  /** That code has its hash. */
  code(hash: Uint8Array, code: Uint8Array): void;
  /** The whole state at the head, once it is there; a partial copy has nothing to hold it against. */
  state(store: Store, manifest: Manifest): Promise<void>;
}

export interface RestoreModules {
  readonly folder: SnapshotFolder;
  readonly store: Store;
  readonly prover: Prover;
  readonly signal: AbortSignal;
  readonly onBlocks: (done: number, total: number) => void;
  readonly onKeys: (done: number) => void;
}

/** The manifest of a folder that must be a snapshot. */
export async function manifestIn(folder: SnapshotFolder): Promise<Manifest> {
  const manifest = await folder.manifest();
  if (manifest !== undefined) return manifest;
  throw new SnapshotError(`${folder.path} is no snapshot: it has no manifest, which an export writes last`);
}

/**
 * Writes a snapshot into a store that is empty, or that an earlier run of the same restore left: the anchor with the state that comes
 * first, what is known beside it, the blocks above, and then those below, downwards. Each step is whole or not there at all, and a store
 * says that it is not complete until the last.
 */
export async function restoreSnapshot(manifest: Manifest, modules: RestoreModules): Promise<void> {
  const { store, folder, prover } = modules;
  if (!(await canRestore(store, manifest)))
    throw new SnapshotError('the store holds a chain already: restore into an empty one');
  await store.setMeta(RESTORING_META, sealOf(manifest));
  for (const [name, text] of await readTexts(manifest, folder)) await store.setMeta(name, text);
  await new Restore(manifest, modules).run();
  await prover.state(store, manifest);
  await store.setMeta(RESTORING_META, '');
}

/** Whether a store is empty, or holds what an earlier run of the same restore wrote. */
export async function canRestore(store: StoreReader, manifest: Manifest): Promise<boolean> {
  return (await store.marks()) === undefined || (await store.getMeta(RESTORING_META)) === sealOf(manifest);
}

class Restore {
  readonly #manifest: Manifest;
  readonly #modules: RestoreModules;
  readonly #total: number;
  #done = 0;

  constructor(manifest: Manifest, modules: RestoreModules) {
    this.#manifest = manifest;
    this.#modules = modules;
    this.#total = manifest.marks.head.number - manifest.marks.lowest.number + 1;
  }

  async run(): Promise<void> {
    const { store } = this.#modules;
    const { marks } = this.#manifest;
    const anchor = marks.anchor.number;
    const history = historyOf(this.#manifest);
    const held = (await store.marks())?.head.number ?? anchor - 1;
    if (held < anchor) await this.#begin(history);
    await this.#pins();
    for (const segment of history) if (segment.last > Math.max(held, anchor)) await this.#append(segment);
    for (const segment of history.toReversed()) if (segment.first < anchor) await this.#prepend(segment);
    const { safe, finalized } = marks;
    await store.mark({ ...(safe && { safe }), ...(finalized && { finalized }) });
    await this.#expectMarks();
  }

  /** The first block, with the state that it comes with. */
  async #begin(history: readonly HistoryRef[]): Promise<void> {
    const { store } = this.#modules;
    const { marks, partial } = this.#manifest;
    const { number, hash } = marks.anchor;
    const segment = history.find(({ last }) => last >= number);
    const found = segment && (await this.#blocks(segment)).find((outcome) => outcome.number === number);
    if (found?.hash !== hash) throw new SnapshotError(`block ${number} is not the anchor ${hash}`);
    const diff = await this.#startDiff();
    const first = { ...found, diff, diffBytes: encodeDiff(diff) };
    await store.append([first], { partial, undo: 0, ...this.#byDiffs(first) });
    this.#progress(1);
  }

  async #startDiff(): Promise<StateDiff> {
    const wiped: Uint8Array[] = [];
    const [accounts, slots, codes]: [
      (readonly [Uint8Array, Uint8Array])[],
      (readonly [Uint8Array, Uint8Array, Uint8Array])[],
      (readonly [Uint8Array, Uint8Array])[],
    ] = [[], [], []];
    for await (const entry of this.#entries('start')) {
      if ('wiped' in entry) wiped.push(entry.wiped);
      else if (entry.key.kind === 'account') accounts.push([entry.key.address, entry.value]);
      else if (entry.key.kind === 'slot') slots.push([entry.key.address, entry.key.slot, entry.value]);
      else if (entry.key.kind === 'code') codes.push([entry.key.hash, entry.value]);
      else throw new SnapshotError('the hash of a block is not of the first state');
    }
    return { wiped, accounts, slots, codes };
  }

  async #pins(): Promise<void> {
    const { store } = this.#modules;
    const { anchor } = this.#manifest.marks;
    let batch: Pin[] = [];
    for await (const entry of this.#entries('pins')) {
      if ('wiped' in entry) throw new SnapshotError('what is known beside the first state wipes nothing');
      batch.push(entry);
      if (batch.length < PIN_BATCH) continue;
      await store.pin(anchor, batch);
      batch = [];
    }
    await store.pin(anchor, batch);
  }

  async *#entries(kind: 'start' | 'pins'): AsyncGenerator<StartEntry, void, undefined> {
    const { prover, onKeys } = this.#modules;
    let keys = 0;
    for (const segment of this.#manifest.segments.filter((each) => each.kind === kind)) {
      const entries = await this.#decoded(segment, readEntries);
      const names = [entries[0], entries.at(-1)].map((entry) =>
        entry === undefined ? '' : entryName(entry),
      );
      if (names[0] !== segment.first || names[1] !== segment.last)
        throw new SnapshotError(`segment ${segment.sha256} has other keys than the manifest says`);
      for (const entry of entries) {
        if ('key' in entry && entry.key.kind === 'code') prover.code(entry.key.hash, entry.value);
        yield entry;
      }
      keys += entries.length;
      onKeys(keys);
    }
  }

  async #append(segment: HistoryRef): Promise<void> {
    const { store } = this.#modules;
    const { anchor } = this.#manifest.marks;
    const next = ((await store.marks())?.head.number ?? anchor.number) + 1;
    const blocks = (await this.#blocks(segment)).filter(({ number }) => number >= next);
    const last = blocks.at(-1);
    if (last === undefined) return;
    if ((segment.diffsFrom ?? Number.POSITIVE_INFINITY) > Math.max(segment.first, anchor.number + 1))
      throw new SnapshotError(`segment ${segment.sha256} lacks what its blocks changed`);
    const undo = Math.max(0, last.number - this.#manifest.undoFloor);
    await store.append(blocks, { undo, ...this.#byDiffs(last) });
    this.#progress(blocks.length);
  }

  async #prepend(segment: HistoryRef): Promise<void> {
    const { store } = this.#modules;
    const lowest = (await store.marks())?.lowest.number ?? 0;
    if (segment.first >= lowest) return;
    const blocks = (await this.#blocks(segment)).filter(({ number }) => number < lowest);
    await store.prepend(blocks);
    this.#progress(blocks.length);
  }

  /** The blocks of a segment, each proven. */
  async #blocks(segment: HistoryRef): Promise<readonly Outcome[]> {
    const outcomes = await this.#decoded(segment, readOutcomes);
    const proven: Outcome[] = [];
    for (const [at, outcome] of outcomes.entries()) {
      await nextTurn();
      this.#modules.signal.throwIfAborted();
      if (outcome.number !== segment.first + at)
        throw new SnapshotError(`segment ${segment.sha256} has block ${outcome.number} in a wrong place`);
      proven.push(this.#modules.prover.block(outcome));
    }
    if (outcomes.at(-1)?.hash !== segment.hash)
      throw new SnapshotError(`segment ${segment.sha256} ends with another block than the manifest says`);
    return proven;
  }

  async #decoded<T>(segment: SegmentRef, read: (raw: Uint8Array, count: number) => T): Promise<T> {
    this.#modules.signal.throwIfAborted();
    const raw = await this.#modules.folder.read(segment);
    try {
      return read(raw, segment.count);
    } catch (cause) {
      throw new SnapshotError(`segment ${segment.sha256} does not decode`, { cause });
    }
  }

  #byDiffs({ number }: Outcome): { readonly byDiffs?: Manifest['marks']['byDiffs'] } {
    const { byDiffs } = this.#manifest.marks;
    return byDiffs !== undefined && byDiffs.number <= number ? { byDiffs } : {};
  }

  #progress(blocks: number): void {
    this.#done += blocks;
    this.#modules.onBlocks(this.#done, this.#total);
  }

  async #expectMarks(): Promise<void> {
    const marks = await this.#modules.store.marks();
    for (const name of ['lowest', 'anchor', 'head', 'safe', 'finalized', 'byDiffs'] as const) {
      const [restored, said] = [marks?.[name], this.#manifest.marks[name]];
      if (restored?.hash !== said?.hash || restored?.number !== said?.number)
        throw new SnapshotError(`the ${name} block is another than the manifest says`);
    }
  }
}
