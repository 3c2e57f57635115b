/** One log as execution produced it; its index in the block is its place in the list that holds it. */
export interface Log {
  readonly transactionIndex: number;
  readonly address: Uint8Array;
  /** 0 to 4 topics of 32 bytes. */
  readonly topics: readonly Uint8Array[];
  readonly data: Uint8Array;
}
