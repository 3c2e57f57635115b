import type { BlockRef } from '../../chain/outcome.ts';

/**
 * A block that our rules refuse, though nobody is known to have lied: it is false, or it is the chain's and our rules are
 * too old (B16). Whoever gave it is not banned for it.
 */
export class RefusedBlockError extends Error {
  override readonly name = 'RefusedBlockError';
  readonly block: BlockRef;
  /** Who gave it. */
  readonly upstream: string;
  readonly reason: string;

  constructor(block: BlockRef, upstream: string, reason: string, options?: ErrorOptions) {
    super(
      `block ${block.number} ${block.hash} of ${upstream} is refused by the rules used here: ${reason}`,
      options,
    );
    this.block = block;
    this.upstream = upstream;
    this.reason = reason;
  }
}
