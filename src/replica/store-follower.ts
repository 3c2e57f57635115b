import type { BlockRef, Outcome } from '../chain/outcome.ts';
import { encodeOutcome } from '../chain/outcome-codec.ts';
import type { NativeExecutor } from '../executor/native-executor.ts';
import type { PublishToFeed, SentRemovedBlock } from '../feed/interface.ts';
import { restoreHotState } from '../follow/state/restore.ts';
import type { Movement } from '../store/cql/catch-up.ts';
import type { CqlReplica } from '../store/cql/replica.ts';

export interface StoreFollowerModules {
  readonly store: CqlReplica;
  readonly executor: Pick<NativeExecutor, 'open' | 'apply' | 'revertTo' | 'dropPreconfirmed'>;
  readonly publish: PublishToFeed;
  /** Hears that hot state has another head, before threads do. */
  readonly moved: (head: BlockRef) => void;
}

/** Takes hot state and serving threads to where a store is that somebody else writes. Nothing is executed. */
export class StoreFollower {
  readonly #hotWindow: number;
  readonly #modules: StoreFollowerModules;
  /** The lowest block that hot state can go back to. */
  #lowest = 0;
  /** The store was seen to move, and hot state and threads did not get there: servers stopped answering on the way. */
  #isBetween = false;

  constructor(hotWindow: number, modules: StoreFollowerModules) {
    this.#hotWindow = hotWindow;
    this.#modules = modules;
  }

  /** Fills hot state with what the store shows. */
  async begin(): Promise<void> {
    const { executor, store } = this.#modules;
    this.#lowest = await restoreHotState(executor, store, this.#hotWindow);
  }

  /** Looks at the store, and resolves once requests are answered from what it shows. */
  async look(): Promise<void> {
    const { store, publish } = this.#modules;
    const movement = await store.sync();
    const position = store.position();
    const { removed, added } = movement;
    const isAnew = movement.isAnew || this.#isBetween;
    this.#isBetween = true;
    if (removed.length > 0 || isAnew) await this.#dropPreconfirmed();
    if (isAnew) {
      await this.begin();
      this.#tellHead();
      await publish({ kind: 'anchored' }, position);
    } else if (removed.length > 0 || added.length > 0) {
      if (!this.#move(movement)) await this.begin();
      this.#tellHead();
      await publish(
        {
          kind: 'confirmed',
          removed: removed.map(sentRemoved),
          added: added.map((block) => ({
            number: block.number,
            hash: block.hash,
            outcome: encodeOutcome(block),
          })),
        },
        position,
      );
    } else {
      // Marks may have moved; and threads learn that the store was heard of.
      await publish({ kind: 'marked' }, position);
    }
    this.#isBetween = false;
  }

  #tellHead(): void {
    const { store, moved } = this.#modules;
    const head = store.marks()?.head;
    if (head !== undefined) moved(head);
  }

  /** Pre-confirmed state stands on blocks that are about to leave hot state. */
  async #dropPreconfirmed(): Promise<void> {
    const { executor, publish } = this.#modules;
    const version = executor.dropPreconfirmed(0);
    await publish({ kind: 'dropped', from: 0, reason: 'reorganised', version });
  }

  /** Takes hot state along, in one turn with what is told of it; whether it reaches so far back. */
  #move({ removed, added }: Movement): boolean {
    const { executor } = this.#modules;
    const last = removed.at(-1);
    if (last !== undefined) {
      const base = last.number - 1;
      if (base < this.#lowest) return false;
      executor.revertTo(base);
    }
    for (const block of added) executor.apply(block.header, block.diffBytes);
    const head = added.at(-1)?.number ?? 0;
    this.#lowest = Math.max(this.#lowest, head - this.#hotWindow + 1);
    return true;
  }
}

function sentRemoved(block: Outcome): SentRemovedBlock {
  const { number, hash, parentHash, timestamp, timestampMs, logs, receipts, diffBytes } = block;
  return { number, hash, parentHash, timestamp, timestampMs, logs, receipts, diffBytes };
}
