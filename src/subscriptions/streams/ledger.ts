import type { BlockRef } from '../../chain/outcome.ts';
import type {
  ConfirmedBlock,
  FeedEvent,
  PreconfirmedFlashblock,
  RemovedBlock,
} from '../../feed/interface.ts';
import { type PreconfirmedBlock, standingOn, withFlashblock } from '../../head/preconfirmed.ts';
import type { BlockLogs } from '../../store/interface.ts';
import { HeldStack, UNTOLD } from './held-stack.ts';
import { ConfirmedLogs, commonLogs, type LogChange, type LogRun, RemovedLogs } from './log-run.ts';

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

const NOTHING: LogChange = { removed: [], added: [] };

/** The feed is not what it has to be: an event does not continue what was told before. */
export class FeedGapError extends Error {}

/**
 * Follows the feed and says, event by event, which logs clients have to take back and which are new. Both views are
 * stacks: what is taken back is the newest, what is added comes after all that is held. Pure: no I/O, no clock.
 */
export class Ledger {
  #position = 0;
  #lineage = 0;
  /** Undefined until the first block of a new copy is told. */
  #tip: BlockRef | undefined;
  /** No event has continued the tip yet: those that led to it may still come. */
  #isJoining = true;
  /** All pre-confirmed blocks told of, ascending, whether they stand on the tip or not. */
  #told: readonly PreconfirmedBlock[] = [];
  /** Those that stand on it. */
  #standing: readonly PreconfirmedBlock[] = [];
  readonly #logs: HeldStack<BlockLogs>;

  constructor({ undoWindow }: LedgerOptions, tip: BlockRef | undefined) {
    this.#logs = new HeldStack({ undoWindow, common: commonLogs });
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
  get standing(): readonly PreconfirmedBlock[] {
    return this.#standing;
  }

  /** Up to where the chain can be read, as `x-chain-at-least` says it. */
  get point(): string {
    const newest = this.#standing.at(-1);
    const index = newest?.flashblocks.at(-1)?.index;
    return newest === undefined || index === undefined
      ? `${this.#tip?.number ?? 0}`
      : `${newest.number};${index}`;
  }

  /** The logs of those, ascending. */
  standingLogs(): readonly LogRun[] {
    return this.#logs.standing();
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
    this.#logs.clear();
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
    const were = this.#standing;
    const stands = this.#tip === undefined ? [] : standingOn(this.#told, this.#tip);
    this.#standing = stands;
    const confirmed = added.map((block) => ({ block: new ConfirmedLogs(block), hash: block.hash }));
    const { change, takenOff } = this.#logs.move(this.#position, {
      removed: removed.map((block) => new RemovedLogs(block)),
      added: confirmed,
      stands: stands.map((block) => ({ block, hash: block.hashSoFar })),
    });
    const [told, standing] = [flashblocksOf(were), flashblocksOf(stands)];
    const isSealed = (was: PreconfirmedBlock, block: ConfirmedBlock): boolean =>
      was.number === block.number && was.isSealedAs(block);
    const lost = flashblocksOf(were.filter((was) => !added.some((block) => isSealed(was, block))));
    return this.#step({
      confirmed: {
        removed: takenOff.map(({ block, at }) => ({ ...UNTOLD, since: at, block })),
        added: confirmed.map(({ block }) => ({ ...UNTOLD, since: this.#position, block })),
      },
      pending: change,
      dropped: [...lost].filter((flashblock) => !standing.has(flashblock)),
      risen: [...standing].filter((flashblock) => !told.has(flashblock)),
      added: added.map((block) => ({
        block,
        wasPreconfirmed: were.some((was) => isSealed(was, block)),
      })),
      removed,
    });
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

function flashblocksOf(blocks: readonly PreconfirmedBlock[]): ReadonlySet<PreconfirmedFlashblock> {
  return new Set(blocks.flatMap(({ flashblocks }) => flashblocks));
}
