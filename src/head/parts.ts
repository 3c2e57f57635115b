import type { Receipt } from '../chain/receipt.ts';
import type { Awaitable, Hex } from '../primitives/hex.ts';

/** What a block consists of, read as it is asked for. */
export interface BlockParts {
  readonly number: number;
  /** Zero where it is not sealed yet. */
  readonly hash: Hex;
  readonly isSealed: boolean;
  /** RLP. */
  header(): Awaitable<Uint8Array>;
  receipts(): Awaitable<readonly Receipt[]>;
}
