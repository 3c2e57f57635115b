import type { Hex } from '../../primitives/hex.ts';

/** A transaction in `txpool_content`. */
export interface PooledTransaction {
  readonly hash: Hex;
  readonly gas: Hex;
  readonly gasPrice?: Hex;
  readonly maxFeePerGas?: Hex;
}

/** What can run at once, by sender and nonce. */
export interface TxPool {
  readonly pending: Readonly<Record<string, Readonly<Record<string, PooledTransaction>>>>;
}

interface Room {
  readonly baseFee: bigint;
  readonly gas: bigint;
  /** In the block already. */
  isKnown(hash: Hex): boolean;
  isRefused(hash: Hex): boolean;
}

const MAX_CHOSEN = 200;

/** Picks what goes into the block next: of each sender in order of nonce, as far as price and room allow. */
export function choose(pool: TxPool, room: Room): readonly PooledTransaction[] {
  const chosen: PooledTransaction[] = [];
  let gas = room.gas;
  for (const byNonce of Object.values(pool.pending)) {
    const nonces = Object.keys(byNonce).sort((one, other) => Number(one) - Number(other));
    for (const nonce of nonces) {
      const transaction = byNonce[nonce];
      if (transaction === undefined || room.isKnown(transaction.hash)) continue;
      const price = BigInt(transaction.maxFeePerGas ?? transaction.gasPrice ?? '0x0');
      const fits =
        price >= room.baseFee && BigInt(transaction.gas) <= gas && !room.isRefused(transaction.hash);
      // What comes after it from this sender cannot run without it.
      if (!fits || chosen.length === MAX_CHOSEN) break;
      gas -= BigInt(transaction.gas);
      chosen.push(transaction);
    }
  }
  return chosen;
}
