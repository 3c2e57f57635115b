import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CQL_BYTES, CQL_PARTS, CQL_ROWS, FEED_BYTES, OUTCOME_BYTES } from './figures.ts';
import { blockBytes, type Demand, planCapacity } from './formulas.ts';
import { renderPlan } from './render.ts';

const DAY_MS = 86_400_000;
/** Blocks of Base's size, and no request yet. */
const BASE: Demand = {
  ...{ blockTimeMs: 200, tps: 300, retentionMs: 90 * DAY_MS, rps: 0, callsShare: 0.3, replicaCores: 8 },
  ...{ hotStateEntries: 0, codeCacheBytes: 0, renderCacheBytes: 0 },
};

it('takes a straight line through an empty and a full block', () => {
  const bytes = { full: 6_100, empty: 100 };
  expect([0, 30, 60, 120].map((transactions) => blockBytes(bytes, transactions))).toEqual([
    ...[100, 3_100, 6_100, 12_100],
  ]);
});

it('multiplies blocks, bytes and replicas', () => {
  const plan = planCapacity(BASE);
  expect(plan.blocks).toBe(90 * 86_400 * 5);
  expect(plan.transactionsPerBlock).toBe(60);
  expect(plan.lmdbBytes).toBe(38_880_000 * 148_613);
  expect(plan.cqlBytesPerReplica).toBe(38_880_000 * 167_418);
  expect(plan.cqlBytes).toBe(3 * plan.cqlBytesPerReplica);
  expect(plan.cqlDiskBytes).toBe(1.5 * plan.cqlBytes);
  expect(plan.cqlRowsPerSecond).toBe(5 * 1_244);
  expect(plan.feedBytesPerSecond).toBe(5 * 54_848);
  // A year of them is what docs/adr/0014 says: 26 TB.
  const year = planCapacity({ ...BASE, retentionMs: 365 * DAY_MS });
  expect(Math.round(year.cqlBytesPerReplica / 1e12)).toBe(26);
});

it('needs cores for calls above all, and one replica more than that', () => {
  const calls = planCapacity({ ...BASE, rps: 2_813, callsShare: 1 });
  expect(calls.servingCores).toBeCloseTo(4);
  expect(calls.replicas).toBe(2);
  const reads = planCapacity({ ...BASE, rps: 41_339, callsShare: 0 });
  expect(reads.servingCores).toBeCloseTo(4);
  const many = planCapacity({ ...BASE, rps: 28_130, callsShare: 1 });
  expect([many.servingCores.toFixed(0), many.replicas]).toEqual(['40', 6]);
  expect(many.feedTotalBytesPerSecond).toBe((3 + 6 + 1) * many.feedBytesPerSecond);
  expect(planCapacity({ ...BASE, rps: 1_000, callsShare: 0.5 }).drivers.cores.calls).toBeGreaterThan(0.9);
});

it('gives a replica the memory that its options let it use', () => {
  const least = planCapacity({ ...BASE, tps: 0 }).replicaMemoryBytes;
  expect(least).toBe(84e6 + 9 * 50e6 + 128 * 691);
  const more = { hotStateEntries: 1_000, codeCacheBytes: 10_000, renderCacheBytes: 100 };
  expect(planCapacity({ ...BASE, tps: 0, ...more }).replicaMemoryBytes - least).toBe(436_000 + 10_000 + 800);
});

it('grows with each thing that is asked for, and with nothing else', () => {
  const seen = planCapacity({ ...BASE, rps: 1_000 });
  const twice = planCapacity({ ...BASE, rps: 1_000, retentionMs: 2 * BASE.retentionMs });
  expect(twice).toEqual({
    ...seen,
    blocks: 2 * seen.blocks,
    lmdbBytes: 2 * seen.lmdbBytes,
    cqlBytesPerReplica: 2 * seen.cqlBytesPerReplica,
    cqlBytes: 2 * seen.cqlBytes,
    cqlDiskBytes: 2 * seen.cqlDiskBytes,
  });
  for (const part of Object.values(seen.drivers))
    expect(Object.values(part).reduce((sum, amount) => sum + amount, 0)).toBeCloseTo(1);
});

it('goes by the figures that are written down', () => {
  const measured = readFileSync(new URL('../../../docs/benchmarks.md', import.meta.url), 'utf8');
  const number = (value: number): string => value.toLocaleString('en-US');
  expect(measured).toContain(`| all but state_flat | ${number(CQL_ROWS.full)} | ${number(CQL_BYTES.full)} |`);
  expect(measured).toContain(`| bytes on the feed | ${number(FEED_BYTES.full)} |`);
  expect(measured).toContain(`${number(OUTCOME_BYTES.full)} bytes as the native core writes them`);
  expect(measured).toContain(`| bodies | 17.0 | ${number(CQL_PARTS.history)} |`);
  expect(measured).toContain('| eth_call, 1,000 keccaks | 2,813 |');
  expect(measured).toContain('| eth_getTransactionReceipt | 41,339 |');
});

it('says it in lines', () => {
  const demand = { ...BASE, rps: 1_000 };
  const text = renderPlan('base', demand, planCapacity(demand));
  expect(text).toMatch(/^chain +base +a block every 200 ms, 300 transactions\/s$/m);
  expect(text).toMatch(/^disk of a node with LMDB +5\.8 TB/m);
  expect(text).toMatch(/^disk of CQL, all nodes +29\.3 TB +3 × 6\.5 TB, × 1\.5/m);
  expect(text).toMatch(/^replicas +2 +of 8 cores/m);
  expect(text).toMatch(/^feed +274 kB\/s/m);
});
