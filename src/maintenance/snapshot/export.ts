import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { type Hex, toHex } from '../../primitives/hex.ts';
import { StoreError } from '../../store/error.ts';
import type { Marks, StateVersion, StoreReader } from '../../store/interface.ts';
import { MovedError, SnapshotError } from './error.ts';
import type { SnapshotFolder } from './folder.ts';
import { FORMAT, type HistoryRef, historyOf, type Manifest, type SegmentRef } from './manifest.ts';
import { HistoryCutter, StateCutter } from './segments.ts';
import { DiffSpill } from './spill.ts';
import { copyTexts } from './texts.ts';

/** Blocks of a range: segments end where one does, so that those below the head stay the same. */
export const RANGE_BLOCKS = 256;
/** How far the BLOCKHASH opcode looks back. */
const BLOCK_HASH_REACH = 256;
/** Keys between two looks at whether to stop. */
const TURN_KEYS = 10_000;
const ATTEMPTS = 5;
/** A diff that says nothing, as the native core writes it. */
const NO_DIFF = new Uint8Array(16);

export interface ExportModules {
  readonly store: StoreReader;
  readonly folder: SnapshotFolder;
  readonly chainId: string;
  readonly parentHashOf: (header: Uint8Array) => Hex;
  readonly signal: AbortSignal;
  readonly onBlocks: (done: number, total: number) => void;
  readonly onKeys: (done: number) => void;
}

/** What an export wrote. */
export interface Exported {
  readonly manifest: Manifest;
  readonly written: number;
}

/** What is exported: the marks as they were, the block whose state comes first, and what blocks can be undone. */
interface Plan {
  readonly marks: Marks;
  readonly partial: boolean;
  readonly floor: number;
}

/**
 * Writes a snapshot of a store that others may go on writing to. Nothing is locked: blocks are read by number up to a head that is
 * chosen first, each must link to the one before, and that head must still be canonical at the end. So all of it is of one chain, as of
 * that head. Where the chain or its lowest block moved, it begins again; segments that are right already are not written twice.
 */
export async function exportSnapshot(modules: ExportModules): Promise<Exported> {
  const { folder, chainId } = modules;
  const known = await folder.manifest();
  if (known !== undefined && known.chainId !== chainId)
    throw new SnapshotError(
      `${folder.path} holds a snapshot of chain ${known.chainId}, and this copy is of chain ${chainId}`,
    );
  await folder.prepare();
  const spill = new DiffSpill(folder.path, RANGE_BLOCKS);
  let margin = 0;
  for (let attempt = 1; ; attempt++) {
    const plan = await planOf(modules.store, margin);
    try {
      await spill.clear();
      const result = await new Export(modules, plan, known, spill).run();
      await folder.seal(result.manifest);
      return result;
    } catch (error) {
      if (!hasMoved(error) || attempt === ATTEMPTS) throw error;
      // A node that deletes old blocks goes on with that: the next time, we begin clearly above.
      const lowest = (await modules.store.marks())?.lowest.number ?? 0;
      margin = Math.max(0, lowest - plan.marks.lowest.number) * 4;
    } finally {
      await spill.clear();
    }
  }
}

function hasMoved(error: unknown): boolean {
  if (error instanceof MovedError) return true;
  return error instanceof StoreError && ['reorganised', 'outOfRange'].includes(error.code);
}

async function planOf(store: StoreReader, margin: number): Promise<Plan> {
  const marks = await store.marks();
  const floor = await store.undoFloor();
  if (marks === undefined || floor === undefined) throw new SnapshotError('the store holds no chain');
  const partial = !(await store.isComplete());
  if (margin === 0) return { marks, partial, floor };
  const number = Math.min(marks.lowest.number + margin, marks.head.number);
  const lowest = { number, hash: await hashAt(store, number) };
  const anchor = marks.anchor.number < number ? lowest : marks.anchor;
  const held = (ref: BlockRef | undefined): BlockRef | undefined =>
    (ref?.number ?? 0) < number ? undefined : ref;
  const raised = { ...marks, lowest, anchor, safe: held(marks.safe), finalized: held(marks.finalized) };
  return { marks: raised, partial, floor: Math.max(floor, anchor.number) };
}

class Export {
  readonly #modules: ExportModules;
  readonly #plan: Plan;
  readonly #known: Manifest | undefined;
  readonly #spill: DiffSpill;

  constructor(modules: ExportModules, plan: Plan, known: Manifest | undefined, spill: DiffSpill) {
    this.#modules = modules;
    this.#plan = plan;
    this.#known = known;
    this.#spill = spill;
  }

  async run(): Promise<Exported> {
    const { store, folder, chainId } = this.#modules;
    const { marks, partial, floor } = this.#plan;
    const kept = await this.#keptRanges();
    // The newest first: of those, a running node soon forgets what each block changed.
    await this.#spillNewest(kept);
    const state = await this.#state(kept);
    const history = await this.#history(kept);
    if ((await store.canonicalHash(marks.head.number)) !== marks.head.hash)
      throw new MovedError(`block ${marks.head.number} ${marks.head.hash} is not canonical any more`);
    const texts = await copyTexts(store, folder);
    const segments = [texts, ...state, ...history];
    const before = new Set(this.#known?.segments.map(({ sha256 }) => sha256));
    const written = segments.filter(({ sha256 }) => !before.has(sha256)).length;
    const manifest = { format: FORMAT, chainId, partial, marks, undoFloor: floor, segments } as const;
    return { manifest, written };
  }

  /** Ranges whose segments are there already and fit, by their number. */
  async #keptRanges(): Promise<ReadonlyMap<number, readonly HistoryRef[]>> {
    const { store, folder } = this.#modules;
    const known = this.#known;
    const kept = new Map<number, readonly HistoryRef[]>();
    if (known === undefined) return kept;
    const byRange = Map.groupBy(historyOf(known), ({ first }) => rangeOf(first));
    for (const [range, segments] of byRange) {
      const [first, last] = [segments[0], segments.at(-1)];
      const blocks = this.#blocksOf(range);
      if (first?.first !== blocks.from || last?.last !== blocks.to) continue;
      if (!segments.every((segment) => this.#hasDiffs(segment, known))) continue;
      if ((await store.canonicalHash(blocks.to)) !== last.hash) continue;
      const present = await Promise.all(segments.map((segment) => folder.has(segment)));
      if (present.every(Boolean)) kept.set(range, segments);
    }
    return kept;
  }

  /** Whether a known segment has what is needed of the state; above the undo floor, exactly what the core wrote. */
  #hasDiffs({ first, last, diffsFrom }: HistoryRef, known: Manifest): boolean {
    const { marks, floor } = this.#plan;
    if (last <= marks.anchor.number) return true;
    const needed = Math.max(first, marks.anchor.number + 1);
    const isExact = last <= floor || known.undoFloor <= floor;
    return diffsFrom !== undefined && diffsFrom <= needed && isExact;
  }

  /** The blocks of a range that are held. */
  #blocksOf(range: number): { readonly from: number; readonly to: number } {
    const { lowest, head } = this.#plan.marks;
    const start = range * RANGE_BLOCKS;
    return {
      from: Math.max(start, lowest.number),
      to: Math.min(start + RANGE_BLOCKS - 1, head.number),
    };
  }

  async #spillNewest(kept: ReadonlyMap<number, unknown>): Promise<void> {
    const { store, signal } = this.#modules;
    const { marks, floor } = this.#plan;
    for (let number = floor + 1; number <= marks.head.number; number++) {
      signal.throwIfAborted();
      if (kept.has(rangeOf(number))) continue;
      const diff = await store.diffBytes(number);
      if (diff === undefined) throw new MovedError(`block ${number} cannot be undone any more`);
      await this.#spill.addWhole(number, diff);
    }
  }

  /** The state as of the anchor as segments; what blocks changed in it is put aside for them. */
  async #state(kept: ReadonlyMap<number, unknown>): Promise<readonly SegmentRef[]> {
    const { store, folder, signal, onKeys } = this.#modules;
    const { marks, partial, floor } = this.#plan;
    const anchor = marks.anchor.number;
    const to = this.#isAnyMissing(kept, anchor + 1, floor) ? floor : anchor;
    const [start, pins] = [new StateCutter(folder, 'start'), new StateCutter(folder, 'pins')];
    const wiped = new Set<Hex>();
    let keys = 0;
    for await (const version of store.scanVersions(anchor, to)) {
      if (++keys % TURN_KEYS === 0) {
        await nextTurn();
        signal.throwIfAborted();
        onKeys(keys);
      }
      if (version.kind !== 'code' && version.number > anchor) {
        if (!kept.has(rangeOf(version.number))) await this.#spill.add(version);
      } else if (version.kind === 'wipe') {
        wiped.add(toHex(version.address));
        await start.add({ wiped: version.address });
      } else {
        // A pin says nothing of an account that was wiped, and nothing at all in a complete copy.
        const isFirst = !partial || (version.kind === 'slot' && wiped.has(toHex(version.address)));
        await (isFirst ? start : pins).add({ key: keyOf(version), value: version.value });
      }
    }
    onKeys(keys);
    for (const [key, value] of await this.#hashesBelow()) await pins.add({ key, value });
    return [...(await start.finish()), ...(await pins.finish())];
  }

  /** Hashes below the lowest block that the copy knows. */
  async #hashesBelow(): Promise<readonly (readonly [StateKey, Uint8Array])[]> {
    const { lowest, anchor } = this.#plan.marks;
    const from = Math.max(0, anchor.number - BLOCK_HASH_REACH);
    const keys = Array.from({ length: Math.max(0, lowest.number - from) }, (_, at) => {
      return { kind: 'blockHash', number: from + at } as const;
    });
    const values = await this.#modules.store.loadState(keys, anchor.number);
    return keys.flatMap((key, at) => {
      const value = values[at];
      return value === undefined ? [] : [[key, value] as const];
    });
  }

  #isAnyMissing(kept: ReadonlyMap<number, unknown>, from: number, to: number): boolean {
    const length = from > to ? 0 : rangeOf(to) - rangeOf(from) + 1;
    return Array.from({ length }, (_, at) => rangeOf(from) + at).some((range) => !kept.has(range));
  }

  async #history(kept: ReadonlyMap<number, readonly HistoryRef[]>): Promise<readonly SegmentRef[]> {
    const { onBlocks } = this.#modules;
    const { lowest, head } = this.#plan.marks;
    const total = head.number - lowest.number + 1;
    const segments: SegmentRef[] = [];
    let parent: Hex | undefined;
    for (let range = rangeOf(lowest.number); range <= rangeOf(head.number); range++) {
      const known = kept.get(range);
      const made = known ?? (await this.#range(range, parent));
      segments.push(...made);
      parent = made.at(-1)?.hash;
      onBlocks(this.#blocksOf(range).to - lowest.number + 1, total);
    }
    return segments;
  }

  async #range(range: number, before: Hex | undefined): Promise<readonly SegmentRef[]> {
    const { folder, signal } = this.#modules;
    const { from, to } = this.#blocksOf(range);
    const anchor = this.#plan.marks.anchor.number;
    const diffs = to > anchor ? await this.#spill.take(from) : undefined;
    const cutter = new HistoryCutter(folder, anchor + 1);
    let parent = before;
    for (let number = from; number <= to; number++) {
      await nextTurn();
      signal.throwIfAborted();
      const outcome = await this.#outcome(number, diffs?.get(number) ?? NO_DIFF);
      if (parent !== undefined && outcome.parentHash !== parent)
        throw new MovedError(`block ${number} does not follow the one that was read before it`);
      parent = outcome.hash;
      await cutter.add(outcome);
    }
    return cutter.finish();
  }

  async #outcome(number: number, diffBytes: Uint8Array): Promise<Outcome> {
    const { store, parentHashOf } = this.#modules;
    const ref = { number, hash: await hashAt(store, number) };
    const [header, block, stored] = [
      await store.header(ref),
      await store.block(ref),
      await store.receipts(ref),
    ];
    if (header === undefined || block === undefined || stored === undefined)
      throw new MovedError(`block ${number} ${ref.hash} is not there any more`);
    const { receipts, logs } = stored;
    const { timestamp, timestampMs } = logs;
    return {
      ...ref,
      ...{ parentHash: parentHashOf(header), timestamp, timestampMs, header, block, receipts, diffBytes },
      logs: Array.from({ length: logs.length }, (_, index) => logs.log(index)),
      // Written from its bytes.
      diff: { wiped: [], accounts: [], slots: [], codes: [] },
    };
  }
}

function rangeOf(number: number): number {
  return Math.floor(number / RANGE_BLOCKS);
}

function keyOf(version: Exclude<StateVersion, { kind: 'wipe' }>): StateKey {
  switch (version.kind) {
    case 'account':
      return { kind: 'account', address: version.address };
    case 'slot':
      return { kind: 'slot', address: version.address, slot: version.slot };
    case 'code':
      return { kind: 'code', hash: version.hash };
  }
}

async function hashAt(store: StoreReader, number: number): Promise<Hex> {
  const hash = await store.canonicalHash(number);
  if (hash === undefined) throw new MovedError(`block ${number} is not there any more`);
  return hash;
}
