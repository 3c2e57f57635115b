import type { Hex } from '../../primitives/hex.ts';

/** Items of one block that clients hold alike: from index `first` up to `end`, or to the block's last. */
export interface Segment {
  readonly first: number;
  readonly end: number;
  /** The position at which they came to stand. Whoever subscribed later has not been told of them. */
  readonly since: number;
  /**
   * The position at which their block was confirmed: who was live before holds them with an all-zero block hash. 0 for
   * items that nobody was told of before that, infinite for those that are pre-confirmed still.
   */
  readonly hashedFrom: number;
}

/** A block as a list of items: its logs, or its transactions. */
interface Items {
  readonly number: number;
  readonly length: number;
}

/** Some items of one block, on their way. */
export interface Run<B> extends Segment {
  readonly block: B;
}

/** What one event does to one view of the chain. */
export interface Change<B> {
  /** Newest first; the items of a run too are taken back from its last to its first. */
  readonly removed: readonly Run<B>[];
  readonly added: readonly Run<B>[];
}

/** A block, and the hash that it has or would have; undefined where that is not known. */
interface Hashed<B> {
  readonly block: B;
  readonly hash: Hex | undefined;
}

/** What an event did to the chain. */
interface Move<B> {
  /** Newest first. */
  readonly removed: readonly B[];
  readonly added: readonly Hashed<B>[];
  /** Pre-confirmed blocks that stand on the head now, ascending. */
  readonly stands: readonly Hashed<B>[];
}

/** A block that was taken off, and the position at which it was confirmed: 0 where that was before all positions. */
interface TakenOff<B> {
  readonly block: B;
  readonly at: number;
}

/** Something above the last common block, of the old or the new chain. */
interface Layer<B> extends Hashed<B> {
  readonly isConfirmed: boolean;
  segments: readonly Segment[];
}

const TO_THE_LAST = Number.POSITIVE_INFINITY;
/** Of a block confirmed before anybody looked, nobody was told as it came. */
export const UNTOLD: Segment = { first: 0, end: TO_THE_LAST, since: 0, hashedFrom: 0 };

export interface HeldStackOptions<B> {
  /** Blocks below the head that can be taken off again. */
  readonly undoWindow: number;
  /** How many items two versions of a block begin with alike: equal in all that clients are told but the block hash. */
  readonly common: (a: B, b: B) => number;
}

/**
 * What clients hold of confirmed and pre-confirmed blocks, as a stack: what is taken back is the newest, what is added comes
 * after all that is held. What a block keeps of its beginning when it is confirmed or built anew is not told again.
 */
export class HeldStack<B extends Items> {
  readonly #options: HeldStackOptions<B>;
  #standing: readonly Layer<B>[] = [];
  readonly #confirmed = new Map<number, { readonly at: number; readonly segments: readonly Segment[] }>();

  constructor(options: HeldStackOptions<B>) {
    this.#options = options;
  }

  /** What is held of the pre-confirmed blocks, ascending. */
  standing(): readonly Run<B>[] {
    return this.#standing.flatMap(({ block, segments }) => runsDown(block, segments, 0).toReversed());
  }

  clear(): void {
    this.#standing = [];
    this.#confirmed.clear();
  }

  /** Takes what happened at a position; gives what clients have to take back and what is new. */
  move(
    position: number,
    { removed, added, stands }: Move<B>,
  ): { readonly change: Change<B>; readonly takenOff: readonly TakenOff<B>[] } {
    const confirmed = added.map((block) => layer(block, true));
    const preconfirmed = stands.map((block) => layer(block, false));
    const [gone, come] = this.#compare(position, [...confirmed, ...preconfirmed], removed.length === 0);
    this.#standing = preconfirmed;
    const off = removed.map((block) => this.#takeOff(block));
    for (const { block, segments } of confirmed) {
      this.#confirmed.set(block.number, { at: position, segments });
      this.#confirmed.delete(block.number - this.#options.undoWindow - 1);
    }
    return { change: { removed: [...gone, ...off.flatMap(({ runs }) => runs)], added: come }, takenOff: off };
  }

  /** What is taken back of the old layers and added of the new; new layers inherit what clients hold of them. */
  #compare(
    position: number,
    next: readonly Layer<B>[],
    mayShare: boolean,
  ): readonly [gone: readonly Run<B>[], come: readonly Run<B>[]] {
    const old = this.#standing;
    let shared = mayShare;
    let lost = mayShare ? next.length : 0;
    const gone: (readonly Run<B>[])[] = [];
    const come: Run<B>[] = [];
    for (const [at, now] of next.entries()) {
      const was = shared ? old[at] : undefined;
      const isSame = was !== undefined && now.isConfirmed && was.hash === now.hash;
      const kept =
        was === undefined ? 0 : isSame ? was.block.length : this.#options.common(was.block, now.block);
      const inherited = clip(was?.segments ?? [], kept).map((segment) =>
        now.isConfirmed ? { ...segment, hashedFrom: position } : segment,
      );
      if (was !== undefined) gone.push(runsDown(was.block, was.segments, kept));
      if (isSame || (was !== undefined && kept === was.block.length && kept === now.block.length)) {
        now.segments = inherited;
        continue;
      }
      // From the first difference on nothing is shared: what is added comes after all that is held.
      if (shared) lost = at + 1;
      shared = false;
      const rest = fresh(now, kept, position);
      now.segments = [...inherited, rest];
      come.push({ ...rest, block: now.block });
    }
    for (const { block, segments } of old.slice(lost)) gone.push(runsDown(block, segments, 0));
    return [gone.reverse().flat(), come];
  }

  #takeOff(block: B): TakenOff<B> & { readonly runs: readonly Run<B>[] } {
    const known = this.#confirmed.get(block.number);
    this.#confirmed.delete(block.number);
    return { block, at: known?.at ?? 0, runs: runsDown(block, known?.segments ?? [UNTOLD], 0) };
  }
}

/** The items of a layer from index `first` on, which nobody holds yet. */
function fresh<B extends Items>({ block, isConfirmed }: Layer<B>, first: number, position: number): Segment {
  return isConfirmed
    ? { first, end: TO_THE_LAST, since: position, hashedFrom: 0 }
    : { first, end: block.length, since: position, hashedFrom: Number.POSITIVE_INFINITY };
}

function layer<B>({ block, hash }: Hashed<B>, isConfirmed: boolean): Layer<B> {
  return { block, hash, isConfirmed, segments: [] };
}

/** The segments of the first `count` items. */
function clip(segments: readonly Segment[], count: number): readonly Segment[] {
  return segments
    .filter(({ first }) => first < count)
    .map((segment) => ({ ...segment, end: Math.min(segment.end, count) }));
}

/** Runs of the items from index `from` on, newest first. */
function runsDown<B>(block: B, segments: readonly Segment[], from: number): readonly Run<B>[] {
  return segments
    .filter(({ end }) => end > from)
    .map((segment) => ({ ...segment, block, first: Math.max(segment.first, from) }))
    .reverse();
}
