import {
  type BlockBytes,
  CORE_LOAD,
  CORE_SECONDS,
  CQL_BYTES,
  CQL_COMPACTION_ROOM,
  CQL_PARTS,
  CQL_REPLICATION,
  CQL_ROWS,
  FEED_BYTES,
  FEED_SERVERS,
  FULL_BLOCK_TRANSACTIONS,
  HOT_ACCOUNT_BYTES,
  HOT_SLOT_BYTES,
  INGESTERS,
  LMDB_BYTES,
  OUTCOME_BYTES,
  PROCESS_BYTES,
  TAIL_BLOCKS,
  THREAD_BYTES,
} from './figures.ts';

/** What is asked of a fleet. */
export interface Demand {
  readonly blockTimeMs: number;
  /** Transactions a second. */
  readonly tps: number;
  readonly retentionMs: number;
  /** Requests a second, and which part of them are calls. */
  readonly rps: number;
  readonly callsShare: number;
  readonly replicaCores: number;
  /** As the options of the same names. */
  readonly hotStateEntries: number;
  readonly codeCacheBytes: number;
  readonly renderCacheBytes: number;
}

/** What it takes. Bytes, and bytes a second. */
export interface CapacityPlan {
  readonly blocks: number;
  readonly transactionsPerBlock: number;
  readonly lmdbBytes: number;
  /** On each of the replicas of CQL, on all, and with room for compaction. */
  readonly cqlBytesPerReplica: number;
  readonly cqlBytes: number;
  readonly cqlDiskBytes: number;
  /** Rows that the writer sends. */
  readonly cqlRowsPerSecond: number;
  readonly servingCores: number;
  readonly replicas: number;
  readonly ingesters: number;
  readonly replicaMemoryBytes: number;
  /** What the ingester publishes, and what all servers of the feed send and store. */
  readonly feedBytesPerSecond: number;
  readonly feedTotalBytesPerSecond: number;
  /** What most of it is for, as parts of one. */
  readonly drivers: {
    readonly disk: Readonly<Record<'history' | 'state' | 'indexes', number>>;
    readonly cores: Readonly<Record<'calls' | 'reads', number>>;
  };
}

/** What a block with so many transactions takes: between an empty and a full one, and beyond, in a straight line. */
export function blockBytes({ full, empty }: BlockBytes, transactions: number): number {
  return empty + ((full - empty) * transactions) / FULL_BLOCK_TRANSACTIONS;
}

/** Works out what a fleet takes. docs/plan.md has the formulas in words. */
export function planCapacity(demand: Demand): CapacityPlan {
  const { blockTimeMs, tps, retentionMs, rps, callsShare } = demand;
  const blocksPerSecond = 1_000 / blockTimeMs;
  const blocks = Math.ceil(retentionMs / blockTimeMs);
  const transactions = tps / blocksPerSecond;
  const cqlBytesPerReplica = blocks * blockBytes(CQL_BYTES, transactions);
  const cqlBytes = cqlBytesPerReplica * CQL_REPLICATION;
  const [calls, reads] = [rps * callsShare * CORE_SECONDS.call, rps * (1 - callsShare) * CORE_SECONDS.read];
  const servingCores = (calls + reads) / CORE_LOAD;
  // One may be away.
  const replicas = Math.max(1, Math.ceil(servingCores / demand.replicaCores)) + 1;
  const feedBytesPerSecond = blocksPerSecond * blockBytes(FEED_BYTES, transactions);
  return {
    blocks,
    transactionsPerBlock: transactions,
    lmdbBytes: blocks * blockBytes(LMDB_BYTES, transactions),
    ...{ cqlBytesPerReplica, cqlBytes, cqlDiskBytes: cqlBytes * CQL_COMPACTION_ROOM },
    cqlRowsPerSecond: blocksPerSecond * blockBytes(CQL_ROWS, transactions),
    ...{ servingCores, replicas, ingesters: INGESTERS },
    replicaMemoryBytes: memoryOf(demand, transactions),
    feedBytesPerSecond,
    // To the servers that keep it, and from them to each replica and to the ingester that waits.
    feedTotalBytesPerSecond: feedBytesPerSecond * (FEED_SERVERS + replicas + INGESTERS - 1),
    drivers: {
      disk: partsOf(CQL_PARTS),
      cores: calls + reads === 0 ? { calls: 0, reads: 0 } : partsOf({ calls, reads }),
    },
  };
}

/** The process, its threads, and what its options let it keep. */
function memoryOf(demand: Demand, transactions: number): number {
  // One that follows, and one that serves on each core.
  const threads = demand.replicaCores + 1;
  return (
    PROCESS_BYTES +
    threads * THREAD_BYTES +
    demand.replicaCores * demand.renderCacheBytes +
    demand.hotStateEntries * (HOT_ACCOUNT_BYTES + HOT_SLOT_BYTES) +
    demand.codeCacheBytes +
    TAIL_BLOCKS * blockBytes(OUTCOME_BYTES, transactions)
  );
}

function partsOf<Name extends string>(amounts: Readonly<Record<Name, number>>): Record<Name, number> {
  const entries = Object.entries<number>(amounts);
  const sum = entries.reduce((total, [, amount]) => total + amount, 0);
  return Object.fromEntries(entries.map(([name, amount]) => [name, amount / sum])) as Record<Name, number>;
}
