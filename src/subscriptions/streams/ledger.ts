import type { BlockRef } from '../../chain/outcome.ts';
import type {
  ConfirmedBlock,
  FeedEvent,
  PreconfirmedFlashblock,
  RemovedBlock,
} from '../../feed/interface.ts';
import { type PreconfirmedBlock, standingOn, withFlashblock } from '../../head/preconfirmed.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { BlockLogs } from '../../store/interface.ts';
import {
  ConfirmedLogs,
  clip,
  commonLogs,
  type LogChange,
  type LogRun,
  RemovedLogs,
  runsDown,
  type Segment,
} from './log-run.ts';

/** A pre-confirmed block on top of the tip, and what clients hold of it. */
interface StandingBlock {
  readonly block: PreconfirmedBlock;
  readonly segments: readonly Segment[];
}

/** What one event changed. */
export interface LedgerStep {
  /** Counts events. */
  readonly position: number;
  /** To the logs of confirmed blocks. */
  readonly confirmed: LogChange;
  /** To the logs of confirmed and pre-confirmed blocks. */
  readonly pending: LogChange;
  /** Flashblocks that stand no more, and whose blocks were not confirmed as they were. */
  readonly dropped: readonly PreconfirmedFlashblock[];
  /** Flashblocks that stand from now on, in order. */
  readonly risen: readonly PreconfirmedFlashblock[];
  /** Blocks confirmed by this event, and whether each was pre-confirmed just so. */
  readonly added: readonly { readonly block: ConfirmedBlock; readonly wasPreconfirmed: boolean }[];
  readonly removed: readonly RemovedBlock[];
}

export interface LedgerOptions {
  /** Blocks below the head that can be taken off again. */
  readonly undoWindow: number;
}

/** Something above the last common block, of the old or the new chain. */
interface Layer {
  readonly block: BlockLogs;
  /** Undefined where it is not known. */
  readonly hash: Hex | undefined;
  readonly isConfirmed: boolean;
  segments: readonly Segment[];
}

interface Confirmed {
  readonly at: number;
  readonly segments: readonly Segment[];
}

const NOTHING: LogChange = { removed: [], added: [] };
const TO_THE_LAST = Number.POSITIVE_INFINITY;
/** Of a block confirmed before there was a ledger, nobody was told as it came. */
const UNTOLD: Segment = { first: 0, end: TO_THE_LAST, since: 0, hashedFrom: 0 };

/** The feed is not what it has to be: an event does not continue what was told before. */
export class FeedGapError extends Error {}

/**
 * Follows the feed and says, event by event, which logs clients have to take back and which are new. Both views are
 * stacks: what is taken back is the newest, what is added comes after all that is held. Pure: no I/O, no clock.
 */
export class Ledger {
  readonly #options: LedgerOptions;
  #position = 0;
  #lineage = 0;
  /** Undefined until the first block of a new copy is told. */
  #tip: BlockRef | undefined;
  /** No event has continued the tip yet: those that led to it may still come. */
  #isJoining = true;
  /** All pre-confirmed blocks told of, ascending, whether they stand on the tip or not. */
  #told: readonly PreconfirmedBlock[] = [];
  /** Those that stand on it. */
  #standing: readonly StandingBlock[] = [];
  readonly #confirmed = new Map<number, Confirmed>();

  constructor(options: LedgerOptions, tip: BlockRef | undefined) {
    this.#options = options;
    this.#tip = tip;
  }

  /** Events taken so far. */
  get position(): number {
    return this.#position;
  }

  /** Changes whenever a confirmed block is taken off. */
  get lineage(): number {
    return this.#lineage;
  }

  /** The confirmed head as far as clients have been told. */
  get tip(): BlockRef | undefined {
    return this.#tip;
  }

  /** Pre-confirmed blocks on top of it, ascending. */
  get standing(): readonly StandingBlock[] {
    return this.#standing;
  }

  /** The logs of those, ascending. */
  standingLogs(): readonly LogRun[] {
    return this.#standing.flatMap(({ block, segments }) => runsDown(block, segments, 0).toReversed());
  }

  /** Takes the next event. Throws `FeedGapError` when it does not continue the last one. */
  apply(event: FeedEvent): LedgerStep {
    this.#position++;
    switch (event.kind) {
      case 'preconfirmed':
        this.#told = withFlashblock(this.#told, event.flashblock);
        return this.#moved([], []);
      case 'dropped':
        this.#told = this.#told.filter(({ number }) => number < event.from);
        return this.#moved([], []);
      case 'confirmed':
        return this.#confirm(event.removed, event.added);
      case 'anchored':
        this.reset();
        return this.#step({});
      case 'marked':
        return this.#step({});
    }
  }

  /** Forgets all; without a tip, the next confirmed block is it. */
  reset(tip?: BlockRef): void {
    this.#lineage++;
    this.#tip = tip;
    this.#told = [];
    this.#standing = [];
    this.#confirmed.clear();
  }

  #confirm(removed: readonly RemovedBlock[], added: readonly ConfirmedBlock[]): LedgerStep {
    const [first, last] = [removed[0] ?? added[0], added.at(-1) ?? parentOf(removed.at(-1))];
    if (first === undefined || last === undefined) throw new FeedGapError('no block was added or removed');
    const tip = this.#tip;
    if (tip !== undefined) {
      const continues = removed.length > 0 ? first.hash === tip.hash : first.number === tip.number + 1;
      if (!continues) {
        if (this.#isJoining && last.number <= tip.number) return this.#step({});
        throw new FeedGapError(`block ${first.number} does not continue block ${tip.number}`);
      }
    }
    this.#isJoining = false;
    if (removed.length > 0) this.#lineage++;
    this.#tip = last;
    const step = this.#moved(removed, added);
    this.#told = this.#told.filter(({ number }) => number > last.number);
    return step;
  }

  /** Works out what stands now, and what that changed. */
  #moved(removed: readonly RemovedBlock[], added: readonly ConfirmedBlock[]): LedgerStep {
    const before = this.#standing;
    const old: readonly Layer[] = before.map(({ block, segments }) => ({
      ...{ block, segments },
      hash: block.hashSoFar,
      isConfirmed: false,
    }));
    const confirmed: readonly Layer[] = added.map((block) =>
      layer(new ConfirmedLogs(block), block.hash, true),
    );
    const stands = this.#tip === undefined ? [] : standingOn(this.#told, this.#tip);
    const preconfirmed = stands.map((block) => layer(block, block.hashSoFar, false));
    const [gone, come] = this.#compare(old, [...confirmed, ...preconfirmed], removed.length === 0);
    this.#standing = stands.map((block, at) => ({ block, segments: preconfirmed[at]?.segments ?? [] }));
    const takenOff = removed.map((block) => this.#takeOff(block));
    for (const { block, segments } of confirmed) this.#remember(block, segments);
    const were = before.map(({ block }) => block);
    const [told, standing] = [flashblocksOf(were), flashblocksOf(stands)];
    const isSealed = (was: PreconfirmedBlock, block: ConfirmedBlock): boolean =>
      was.number === block.number && was.isSealedAs(block);
    const lost = flashblocksOf(were.filter((was) => !added.some((block) => isSealed(was, block))));
    return this.#step({
      confirmed: {
        removed: takenOff.map(({ whole }) => whole),
        added: confirmed.map((now) => ({ ...this.#fresh(now, 0), block: now.block })),
      },
      pending: { removed: [...gone, ...takenOff.flatMap(({ runs }) => runs)], added: come },
      dropped: [...lost].filter((flashblock) => !standing.has(flashblock)),
      risen: [...standing].filter((flashblock) => !told.has(flashblock)),
      added: added.map((block) => ({
        block,
        wasPreconfirmed: were.some((was) => isSealed(was, block)),
      })),
      removed,
    });
  }

  #remember({ number }: BlockRef, segments: readonly Segment[]): void {
    this.#confirmed.set(number, { at: this.#position, segments });
    this.#confirmed.delete(number - this.#options.undoWindow - 1);
  }

  /** What is taken back of the old layers and added of the new; new layers inherit what clients hold of them. */
  #compare(
    old: readonly Layer[],
    next: readonly Layer[],
    mayShare: boolean,
  ): readonly [gone: readonly LogRun[], come: readonly LogRun[]] {
    let shared = mayShare;
    let lost = mayShare ? next.length : 0;
    const gone: (readonly LogRun[])[] = [];
    const come: LogRun[] = [];
    for (const [at, now] of next.entries()) {
      const was = shared ? old[at] : undefined;
      const isSame = was !== undefined && now.isConfirmed && was.hash === now.hash;
      const kept = was === undefined ? 0 : isSame ? was.block.length : commonLogs(was.block, now.block);
      const inherited = clip(was?.segments ?? [], kept).map((segment) =>
        this.#inherit(segment, now.isConfirmed),
      );
      if (was !== undefined) gone.push(runsDown(was.block, was.segments, kept));
      if (isSame || (was !== undefined && kept === was.block.length && kept === now.block.length)) {
        now.segments = inherited;
        continue;
      }
      // From the first difference on nothing is shared: what is added comes after all that is held.
      if (shared) lost = at + 1;
      shared = false;
      const rest = this.#fresh(now, kept);
      now.segments = [...inherited, rest];
      come.push({ ...rest, block: now.block });
    }
    for (const { block, segments } of old.slice(lost)) gone.push(runsDown(block, segments, 0));
    return [gone.reverse().flat(), come];
  }

  #inherit(segment: Segment, isConfirmed: boolean): Segment {
    return isConfirmed ? { ...segment, hashedFrom: this.#position } : segment;
  }

  /** The logs of a layer from index `first` on, which nobody holds yet. */
  #fresh({ block, isConfirmed }: Layer, first: number): Segment {
    return isConfirmed
      ? { first, end: TO_THE_LAST, since: this.#position, hashedFrom: 0 }
      : { first, end: block.length, since: this.#position, hashedFrom: Number.POSITIVE_INFINITY };
  }

  #takeOff(removed: RemovedBlock): { readonly whole: LogRun; readonly runs: readonly LogRun[] } {
    const block = new RemovedLogs(removed);
    const known = this.#confirmed.get(block.number);
    this.#confirmed.delete(block.number);
    return {
      whole: { ...UNTOLD, since: known?.at ?? 0, block },
      runs: runsDown(block, known?.segments ?? [UNTOLD], 0),
    };
  }

  #step(step: Partial<LedgerStep>): LedgerStep {
    return {
      position: this.#position,
      confirmed: NOTHING,
      pending: NOTHING,
      dropped: [],
      risen: [],
      added: [],
      removed: [],
      ...step,
    };
  }
}

function parentOf(block: RemovedBlock | undefined): BlockRef | undefined {
  return block && { number: block.number - 1, hash: block.parentHash };
}

function layer(block: BlockLogs, hash: Hex | undefined, isConfirmed: boolean): Layer {
  return { block, hash, isConfirmed, segments: [] };
}

function flashblocksOf(blocks: readonly PreconfirmedBlock[]): ReadonlySet<PreconfirmedFlashblock> {
  return new Set(blocks.flatMap(({ flashblocks }) => flashblocks));
}
