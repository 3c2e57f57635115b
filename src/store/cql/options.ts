/** How a store in CQL is reached, and how it behaves. */
export interface CqlStoreOptions {
  /** Servers to begin with, each `host` or `host:port`; the others are learned from them. */
  readonly contactPoints: readonly string[];
  readonly localDataCenter: string;
  readonly keyspace: string;
  readonly credentials?: { readonly username: string; readonly password: string } | undefined;
  /** Servers that hold each row; looked at when the keyspace is made. */
  readonly replication: number;
  /** Which chain of the keyspace: its row in `chains`. */
  readonly chain: string;
  /** Who writes, for operators to see. */
  readonly holder?: string;
  /** A writer that shows no sign of life for so long may be replaced. */
  readonly leaseMs?: number;
  /** Blocks that can be taken off the head. */
  readonly undoWindow?: number;
  /** Blocks below the head that are not indexed yet: a reorganisation that is no deeper leaves no rows to put right. */
  readonly indexLag?: number;
  /** Blocks that may wait for the index, beyond which an append waits for it. */
  readonly maxTail?: number;
  /** How long rows that a reader may still look for stay as they are. */
  readonly graceMs?: number;
  /** How long after a look at the root row it is answered from: clearly less than the above, for reads that are under way. */
  readonly viewMs?: number;
  /** Batches of rows that are under way at the same time: of a change that makes blocks visible, and of the index behind it. */
  readonly writesAtOnce?: number;
  readonly indexWritesAtOnce?: number;
  /** Reads that are under way at the same time. */
  readonly readsAtOnce?: number;
  /** How long one statement may take. */
  readonly timeoutMs?: number;
}

/** What is left out is this. */
export const CQL_DEFAULTS = {
  leaseMs: 2_000,
  undoWindow: 256,
  indexLag: 64,
  maxTail: 4_096,
  graceMs: 15_000,
  viewMs: 7_500,
  writesAtOnce: 32,
  indexWritesAtOnce: 4,
  readsAtOnce: 256,
  timeoutMs: 5_000,
} as const satisfies Partial<CqlStoreOptions>;
