import type { BlockRef } from '../chain/outcome.ts';
import type { ChainSource } from '../source/interface.ts';
import type { Marks, StoreReader } from '../store/interface.ts';
import { FinalizedError, TooDeepError } from './errors.ts';

export interface ForksModules {
  readonly store: Pick<StoreReader, 'canonicalHash' | 'undoFloor'>;
  readonly source: Pick<ChainSource, 'hashAt'>;
}

/** Where an upstream's chain parts from ours, and whether ours can be taken back to there. */
export class Forks {
  readonly #modules: ForksModules;

  constructor(modules: ForksModules) {
    this.#modules = modules;
  }

  async isCanonical({ number, hash }: BlockRef): Promise<boolean> {
    return (await this.#modules.store.canonicalHash(number)) === hash;
  }

  /** Throws when what is above a block cannot, or must not, be taken off. */
  async expectUndoable({ number }: { readonly number: number }, marks: Marks): Promise<void> {
    const { finalized } = marks;
    if (finalized !== undefined && number < finalized.number) {
      throw new FinalizedError(
        `the upstream's chain parts from ours below block ${finalized.number}, which is final: it is not followed`,
      );
    }
    if (number >= (await this.#undoFloor(marks))) return;
    throw new TooDeepError(
      `the upstream's chain parts from ours below block ${number + 1}: deeper than ours can be taken back`,
    );
  }

  /** The same before a fork is fetched all the way down: one question instead of hundreds. */
  async expectShared(upstream: string, marks: Marks, signal: AbortSignal): Promise<void> {
    const floor = await this.#undoFloor(marks);
    const theirs = await this.#modules.source.hashAt(floor, { signal, only: upstream });
    if (theirs === undefined || (await this.isCanonical({ number: floor, hash: theirs.value }))) return;
    await this.expectUndoable({ number: floor - 1 }, marks);
  }

  /** The highest block that an upstream's chain shares with ours; `above` is one that it does not. */
  async commonAncestor(
    upstream: string,
    above: number,
    marks: Marks,
    signal: AbortSignal,
  ): Promise<BlockRef> {
    const sharedAt = async (number: number): Promise<BlockRef | undefined> => {
      const theirs = await this.#modules.source.hashAt(number, { signal, only: upstream });
      if (theirs === undefined) return undefined;
      const ref = { number, hash: theirs.value };
      return (await this.isCanonical(ref)) ? ref : undefined;
    };
    const floor = await this.#undoFloor(marks);
    let shared = await sharedAt(floor);
    if (shared === undefined) {
      await this.expectUndoable({ number: floor - 1 }, marks);
      throw new TooDeepError(`${upstream} does not have block ${floor}`);
    }
    for (let other = above; other - shared.number > 1; ) {
      const middle = Math.floor((shared.number + other) / 2);
      const found = await sharedAt(middle);
      if (found === undefined) other = middle;
      else shared = found;
    }
    return shared;
  }

  /** The lowest block that blocks above can be taken off of. */
  async #undoFloor({ finalized, head }: Marks): Promise<number> {
    return Math.max(finalized?.number ?? 0, (await this.#modules.store.undoFloor()) ?? head.number);
  }
}
