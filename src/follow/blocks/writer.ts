import type { BlockRef, EncodedOutcome, Outcome } from '../../chain/outcome.ts';
import type { NativeExecutor } from '../../executor/native-executor.ts';
import type { PublishToFeed, SentRemovedBlock } from '../../feed/interface.ts';
import { type UndoWindow, undoBlocks } from '../../primitives/undo-window.ts';
import type { BlockTime } from '../../store/block-time.ts';
import type { Marks, Pin, Store } from '../../store/interface.ts';
import { removedBlocks } from './removed.ts';

interface BlockWriterOptions {
  readonly undoWindow: UndoWindow;
  readonly hotWindow: number;
}

interface BlockWriterModules {
  readonly store: Store;
  readonly executor: Pick<NativeExecutor, 'takeLostPreconfirmed'>;
  /** State that was read from upstreams. */
  readonly state: {
    /** What has to be written together with these blocks. */
    dueWith(outcomes: readonly Outcome[]): readonly Pin[];
    written(pins: readonly Pin[]): void;
    /** Where state is read, if not at the head. */
    readAt(base: BlockRef | undefined): void;
  };
  readonly blockTime: Pick<BlockTime, 'ms'>;
  readonly publish: PublishToFeed;
  readonly observe: (event: {
    readonly kind: 'moved';
    readonly head: BlockRef;
    readonly byDiffs: BlockRef | undefined;
  }) => void;
}

/** What blocks are written as. */
export interface Written {
  /** They take the place of what is above their base. */
  readonly replaces: boolean;
  /** The first block of their chain that is followed by state diffs. */
  readonly byDiffs: BlockRef | undefined;
}

/** Writes blocks that were executed, and tells of them. */
export class BlockWriter {
  readonly #options: BlockWriterOptions;
  readonly #modules: BlockWriterModules;

  constructor(options: BlockWriterOptions, modules: BlockWriterModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** The head then. */
  async write(
    base: BlockRef,
    outcomes: readonly EncodedOutcome[],
    { replaces, byDiffs }: Written,
    marks: Marks,
  ): Promise<BlockRef> {
    const { executor, state, store, publish, observe } = this.#modules;
    const { number, hash } = outcomes.at(-1) ?? base;
    if (executor.takeLostPreconfirmed()) {
      // It names the new head as its parent, but was executed on other contents: nobody may see it on top of the head.
      await publish({ kind: 'dropped', from: number + 1, reason: 'sealedOtherwise', version: undefined });
    }
    const undo = await this.#undoBlocks(number, marks);
    let removed: readonly SentRemovedBlock[] = [];
    // Read while they are there: whoever was told of their logs has to be told that they are gone.
    if (replaces)
      removed = await removedBlocks(store, base.number + 1, await this.#takeOff(marks.head, base));
    const pins = state.dueWith(outcomes);
    await store.append(outcomes, { pins, undo, byDiffs, ...(replaces && { onto: base.number }) });
    state.written(pins);
    state.readAt(undefined);
    const added = outcomes.map((outcome) => ({
      number: outcome.number,
      hash: outcome.hash,
      outcome: outcome.encoded,
    }));
    void publish({ kind: 'confirmed', removed, added });
    observe({ kind: 'moved', head: { number, hash }, byDiffs });
    return { number, hash };
  }

  /** Takes so many blocks off the store, in steps, that few are left above `base`; the number of the head then. */
  async #takeOff({ number }: BlockRef, base: BlockRef): Promise<number> {
    const { store, publish } = this.#modules;
    const { hotWindow } = this.#options;
    let head = number;
    // What subscribers have to be told of the removed blocks is held in memory, so it must not be of thousands.
    for (; head - base.number > hotWindow; head -= hotWindow) {
      const onto = head - hotWindow;
      const removed = await removedBlocks(store, onto + 1, head);
      await store.append([], { onto });
      await publish({ kind: 'confirmed', removed, added: [] });
    }
    return head;
  }

  /** The blocks that can be taken off once `number` is the head in the place of that of `marks`. */
  async #undoBlocks(number: number, { finalized, head, lowest }: Marks): Promise<number> {
    const ms = await this.#modules.blockTime.ms(head.number, lowest.number);
    return undoBlocks(this.#options.undoWindow, { head: number, finalized: finalized?.number }, ms);
  }
}
