// What the planner goes by: measured figures, each with where it is written down, and assumptions, which say so.

/** The block that sizes were measured with: 60 transactions, 300 logs, 500 state writes; a busy one of Base (bench/stores/content.ts). */
export const FULL_BLOCK_TRANSACTIONS = 60;

/** What a block takes: one that is full, and one that is empty. */
export interface BlockBytes {
  readonly full: number;
  readonly empty: number;
}

/** In the file of LMDB: what 1,500 more full blocks made it grow by, and its tables of headers, hashes and numbers (docs/plan.md). */
export const LMDB_BYTES: BlockBytes = { full: 148_613, empty: 825 };

/** In CQL with LZ4, on one of its replicas: 'a full block', docs/benchmarks.md. Empty: links, canonical, numbers, and a header as above. */
export const CQL_BYTES: BlockBytes = { full: 167_418, empty: 1_088 };

/** Of a full block in CQL: bodies; state_history and state_last; postings and transactions (the same table). */
export const CQL_PARTS = { history: 81_744, state: 63_615, indexes: 21_662 } as const;

/** Rows of a full block in CQL (the same table). Empty: those of bodies, links, canonical and numbers. */
export const CQL_ROWS: BlockBytes = { full: 1_244, empty: 8 };

/** Servers that hold each row. */
export const CQL_REPLICATION = 3;

/** Assumed: room for compaction beside what is held. Size-tiered compaction writes tables anew before it deletes the old. */
export const CQL_COMPACTION_ROOM = 1.5;

/** On the feed: 'bytes on the feed', docs/benchmarks.md. Empty: a header. */
export const FEED_BYTES: BlockBytes = { full: 54_848, empty: 691 };

/** An outcome as the native core writes it (the same section): replicas keep those in memory that are not indexed yet. */
export const OUTCOME_BYTES: BlockBytes = { full: 132_952, empty: 691 };

/** Servers that keep the feed (docs/feed.md). */
export const FEED_SERVERS = 3;

/** Seconds of a core for one request: two cores, with the load generator on them, did so many a second (docs/benchmarks.md). */
export const CORE_SECONDS = {
  /** eth_call that hashes 1,000 times: a quote through a few pools, not a balance. */
  call: 2 / 2_813,
  /** eth_getTransactionReceipt, the slowest of the plain reads in that table. */
  read: 2 / 41_339,
} as const;

/** Assumed: how busy cores may be, so that answers stay quick and bursts fit. */
export const CORE_LOAD = 0.5;

/** Two, of which one writes and one waits for its lease (docs/adr/0014). */
export const INGESTERS = 2;

/** Memory of a node: docs/memory.md, 'with bounded heaps', where three threads had 151 of 235 MB. */
export const PROCESS_BYTES = 84e6;
export const THREAD_BYTES = 50e6;

/** An account and a slot in hot state: native memory that 800,000 of each took (docs/plan.md). */
export const HOT_ACCOUNT_BYTES = 214;
export const HOT_SLOT_BYTES = 222;

/** Blocks above those that are indexed: the lag of 64, and the row of 64 that is being written (src/store/cql/options.ts). */
export const TAIL_BLOCKS = 128;
