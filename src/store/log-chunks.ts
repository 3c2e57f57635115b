import { encodeLogChunks } from '../chain/log-codec.ts';
import type { Outcome } from '../chain/outcome.ts';
import { fromHex } from '../primitives/hex.ts';
import { StoreError } from './error.ts';

/** The logs of a block as the chunks that stores keep; `conflict` for a log of a transaction that the block does not have. */
export function logChunksOf({ number, hash, timestamp, timestampMs, logs, receipts }: Outcome): Buffer[] {
  return encodeLogChunks({ hash: fromHex(hash), timestamp, timestampMs }, logs, (index) => {
    const receipt = receipts[index];
    if (receipt === undefined)
      throw new StoreError('conflict', `block ${number} has a log without a receipt`);
    return receipt.transactionHash;
  });
}
