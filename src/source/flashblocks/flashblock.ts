import type { Hex } from '../../primitives/hex.ts';

/** What stays the same for the whole block; sent with its first flashblock. */
export interface FlashblockBase {
  readonly parentHash: Hex;
  readonly parentBeaconBlockRoot: Hex;
  readonly feeRecipient: Hex;
  readonly prevRandao: Hex;
  readonly gasLimit: bigint;
  readonly timestamp: bigint;
  readonly extraData: Hex;
  readonly baseFeePerGas: bigint;
}

/** Roots and gas are of the whole block so far, transactions only the new ones. What the source does not know is undefined. */
export interface FlashblockDiff {
  readonly stateRoot: Hex | undefined;
  /** Undefined where a source cannot say it: what is executed is not compared with it then. */
  readonly receiptsRoot: Hex | undefined;
  /** Likewise. */
  readonly logsBloom: Hex | undefined;
  readonly gasUsed: bigint;
  readonly blobGasUsed: bigint | undefined;
  /** What the next block would name as its parent. Never the hash of a header without a state root, which is nobody's. */
  readonly blockHash: Hex | undefined;
  readonly withdrawalsRoot: Hex | undefined;
  /** As signed: typed, or RLP of a legacy one. */
  readonly transactions: readonly Uint8Array[];
}

/** A slice of a block that is still being built, about every 200 ms. */
export interface Flashblock {
  /** Names one attempt at building the block. */
  readonly payloadId: Hex;
  readonly index: number;
  readonly blockNumber: number;
  /** There exactly at index 0. */
  readonly base: FlashblockBase | undefined;
  readonly diff: FlashblockDiff;
  /** Equal for equal content, whatever its spelling and metadata. */
  readonly digest: string;
  /** The message as JSON, which the executor reads for itself. */
  readonly text: string;
}
