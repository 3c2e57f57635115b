import { CQL_COMPACTION_ROOM, CQL_REPLICATION } from './figures.ts';
import type { CapacityPlan, Demand } from './formulas.ts';

const DAY_MS = 86_400_000;
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** The plan as lines: what, how much, and of what it is made. */
export function renderPlan(chain: string, demand: Demand, plan: CapacityPlan): string {
  const { drivers } = plan;
  const blocks = `${whole(plan.blocks)} of ${plan.transactionsPerBlock.toFixed(1)} transactions`;
  const cql = `${CQL_REPLICATION} × ${size(plan.cqlBytesPerReplica)}, × ${CQL_COMPACTION_ROOM} for compaction (assumed)`;
  const parts = (amounts: Readonly<Record<string, number>>): string =>
    Object.entries(amounts)
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, part]) => `${name} ${Math.round(part * 100)} %`)
      .join(', ');
  const rows: readonly (readonly [string, string, string])[] = [
    ['chain', chain, `a block every ${demand.blockTimeMs} ms, ${demand.tps} transactions/s`],
    ['blocks kept', blocks, `${demand.retentionMs / DAY_MS} days`],
    ['disk of a node with LMDB', size(plan.lmdbBytes), 'and what calls pin of older state'],
    ['disk of CQL, all nodes', size(plan.cqlDiskBytes), cql],
    ['rows to CQL', `${whole(plan.cqlRowsPerSecond)}/s`, 'from the ingester, behind the head'],
    ['ingesters', String(plan.ingesters), 'one writes, one waits'],
    [
      'cores that serve',
      plan.servingCores.toFixed(1),
      `${demand.rps} requests/s, ${Math.round(demand.callsShare * 100)} % of them calls, cores half busy`,
    ],
    ['replicas', String(plan.replicas), `of ${demand.replicaCores} cores, one of which may be away`],
    [
      'memory of a replica',
      size(plan.replicaMemoryBytes),
      'hot state, code, rendered answers, threads; without clients',
    ],
    [
      'feed',
      `${size(plan.feedBytesPerSecond)}/s`,
      `${size(plan.feedTotalBytesPerSecond)}/s with all who keep and read it`,
    ],
    ['what disk is for', parts(drivers.disk), 'it grows with --retention and --tps'],
    ['what cores are for', parts(drivers.cores), 'it grows with --rps and --calls-share'],
  ];
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function size(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1_000 ** power;
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${UNITS[power]}`;
}
