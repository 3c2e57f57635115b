/** Fields that only some receipts have, by the name they are served under; the number is their tag in stored bytes. */
export const receiptExtra = {
  blobGasUsed: 1,
  blobGasPrice: 2,
  depositNonce: 3,
  depositReceiptVersion: 4,
  l1GasPrice: 5,
  l1GasUsed: 6,
  l1Fee: 7,
  l1BaseFeeScalar: 8,
  l1BlobBaseFee: 9,
  l1BlobBaseFeeScalar: 10,
  operatorFeeScalar: 11,
  operatorFeeConstant: 12,
  daFootprintGasScalar: 13,
} as const;
export type ReceiptExtra = keyof typeof receiptExtra;

/** One receipt without its logs, which follow each other in the block's log list. */
export interface Receipt {
  readonly transactionHash: Uint8Array;
  readonly type: number;
  readonly from: Uint8Array;
  /** Absent for a contract creation. */
  readonly to: Uint8Array | undefined;
  /** Present for a contract creation. */
  readonly contractAddress: Uint8Array | undefined;
  /** 0 or 1; before Byzantium there is `root` instead. */
  readonly status: number | undefined;
  readonly root: Uint8Array | undefined;
  readonly gasUsed: number;
  readonly cumulativeGasUsed: number;
  readonly effectiveGasPrice: bigint;
  /** 256 bytes. */
  readonly bloom: Uint8Array;
  readonly logCount: number;
  readonly extras: readonly (readonly [ReceiptExtra, bigint])[];
}
