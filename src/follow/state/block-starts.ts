import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { NativeExecutor } from '../../executor/native-executor.ts';
import type { PinnedState } from './pinned-state.ts';
import { SlotsAhead } from './slots-ahead.ts';

interface BlockStartsModules {
  readonly executor: Pick<NativeExecutor, 'bringIn'>;
  readonly state: Pick<PinnedState, 'load'>;
}

/**
 * Slots that each block writes at its start, known before it is executed. They are the one thing that every block lacks, and
 * a block that lacks something is executed twice.
 */
export class BlockStarts {
  readonly #modules: BlockStartsModules;
  readonly #ahead = new SlotsAhead();

  constructor(modules: BlockStartsModules) {
    this.#modules = modules;
  }

  /** Has those of the next blocks in memory; `head` is what the first of them stands on, `written` a block of the store. */
  async bringIn(
    blocks: readonly Pick<Outcome, 'number' | 'timestamp'>[],
    head: Uint8Array,
    written: BlockRef,
  ): Promise<void> {
    const slots = blocks.flatMap((block) => this.#ahead.of(block));
    if (slots.length === 0) return;
    const { executor, state } = this.#modules;
    await executor.bringIn(head, slots, (keys, asOf) => state.load(keys, asOf, written));
  }

  /** Takes note of what a block wrote, so that the next ones are known to write it too. */
  learn(outcome: Outcome): void {
    this.#ahead.learn(outcome);
  }

  /** Has what the blocks after the head are sure to need read before they come. */
  readAhead(head: Outcome | undefined): void {
    const keys = head === undefined ? [] : this.#ahead.due(head);
    if (head === undefined || keys.length === 0) return;
    // Whoever needs it and does not find it asks again, and hears why it cannot be had.
    this.#modules.state.load(keys, head.number, head).catch(() => this.#ahead.forget());
  }
}
