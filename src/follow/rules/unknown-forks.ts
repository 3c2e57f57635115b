import type { BlockRef } from '../../chain/outcome.ts';
import type { RulesStop } from '../../rules/row.ts';
import type { Marks } from '../../store/interface.ts';

export interface UnknownForksModules {
  /** From when on the chain has rules that we lack, as its upstreams say. */
  readonly stop: () => RulesStop | undefined;
  /** The block that our rules refuse though it is the chain's. */
  readonly refused: () => BlockRef['hash'] | undefined;
  /** Why blocks of the fork cannot be followed, though they would be. */
  readonly obstacle: () => string | undefined;
  /** Whether the rules of a block (RLP) are known, as far as our own table tells. */
  readonly isKnown: (block: Uint8Array) => boolean;
}

interface NewBlock extends BlockRef {
  readonly timestamp: number;
  readonly rlp: Uint8Array;
}

/**
 * Tells which blocks are followed by state diffs, as their rules are not known here (`--unknown-fork follow-by-diffs`). All above
 * such a block are: what it wrote outside of its transactions is not known, so nothing can be executed on it.
 */
export class UnknownForks {
  readonly #modules: UnknownForksModules;

  constructor(modules: UnknownForksModules) {
    this.#modules = modules;
  }

  /** Whether blocks of the time from which on rules are lacking can be followed. */
  get canFollow(): boolean {
    return this.#modules.obstacle() === undefined;
  }

  /** For blocks that are put on `base`, one after another. */
  above(base: BlockRef, { byDiffs }: Marks): BlocksByDiffs {
    const mark = byDiffs !== undefined && byDiffs.number <= base.number ? byDiffs : undefined;
    return new BlocksByDiffs(mark, (block) => this.#isUnknown(block));
  }

  #isUnknown({ hash, timestamp, rlp }: NewBlock): boolean {
    const { stop, refused, isKnown } = this.#modules;
    return timestamp >= (stop()?.time ?? Number.POSITIVE_INFINITY) || refused() === hash || !isKnown(rlp);
  }
}

/** Blocks that are put on one another, and the first of their chain whose rules are not known. */
export class BlocksByDiffs {
  #mark: BlockRef | undefined;
  readonly #isUnknown: (block: NewBlock) => boolean;

  constructor(mark: BlockRef | undefined, isUnknown: (block: NewBlock) => boolean) {
    this.#mark = mark;
    this.#isUnknown = isUnknown;
  }

  get mark(): BlockRef | undefined {
    return this.#mark;
  }

  /** Whether the next block is followed by state diffs. */
  takes(block: NewBlock): boolean {
    if (this.#mark === undefined && this.#isUnknown(block)) {
      this.#mark = { number: block.number, hash: block.hash };
    }
    return this.#mark !== undefined;
  }
}
