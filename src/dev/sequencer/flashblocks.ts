import { randomBytes } from 'node:crypto';
import { type Hex, toHex } from '../../primitives/hex.ts';
import type { BlockSoFar } from '../chain.ts';

/** A flashblock as it goes over the wire. */
export interface FlashblockMessage {
  readonly payload_id: Hex;
  readonly index: number;
  readonly base?: Readonly<Record<string, Hex>>;
  readonly diff: Readonly<Record<string, unknown>>;
  readonly metadata: { readonly block_number: number };
}

/**
 * Cuts blocks, as they grow, into flashblocks. A block that does not go on from what was published of it, or stands on
 * another parent, begins again at index 0 with another payload id.
 */
export class FlashblockCutter {
  #last: { readonly payloadId: Hex; readonly index: number; readonly block: BlockSoFar } | undefined;

  cut(block: BlockSoFar): FlashblockMessage {
    const last = this.#last;
    const continues = last !== undefined && goesOn(last.block, block);
    const index = continues ? last.index + 1 : 0;
    const payloadId = continues ? last.payloadId : toHex(randomBytes(8));
    this.#last = { payloadId, index, block };
    const before = continues ? last.block.transactions.length : 0;
    return {
      payload_id: payloadId,
      index,
      ...(continues ? {} : { base: baseOf(block) }),
      diff: diffOf(block, before),
      metadata: { block_number: Number(block.blockNumber) },
    };
  }
}

function goesOn(before: BlockSoFar, now: BlockSoFar): boolean {
  const base = baseOf(before);
  const sameBase = Object.entries(baseOf(now)).every(([name, value]) => base[name] === value);
  return (
    sameBase && before.transactions.every((transaction, index) => now.transactions[index] === transaction)
  );
}

function baseOf(block: BlockSoFar): Readonly<Record<string, Hex>> {
  return {
    parent_beacon_block_root: block.parentBeaconBlockRoot,
    parent_hash: block.parentHash,
    fee_recipient: block.feeRecipient,
    prev_randao: block.prevRandao,
    block_number: block.blockNumber,
    gas_limit: block.gasLimit,
    timestamp: block.timestamp,
    extra_data: block.extraData,
    base_fee_per_gas: block.baseFeePerGas,
  };
}

function diffOf(block: BlockSoFar, before: number): FlashblockMessage['diff'] {
  return {
    state_root: block.stateRoot,
    receipts_root: block.receiptsRoot,
    logs_bloom: block.logsBloom,
    gas_used: block.gasUsed,
    block_hash: block.blockHash,
    transactions: block.transactions.slice(before),
    withdrawals: [],
    withdrawals_root: block.withdrawalsRoot,
    blob_gas_used: block.blobGasUsed,
  };
}
