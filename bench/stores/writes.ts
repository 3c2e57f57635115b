import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome } from '../../src/chain/outcome.ts';
import { fromHex } from '../../src/primitives/hex.ts';
import type { LmdbStore } from '../../src/store/lmdb/index.ts';
import type { Cassandra } from '../../test/support/servers/fleet/cassandra.ts';
import { markdown } from '../report.ts';
import { type Content, hotAddress, plantedTopic, transferTopic } from './content.ts';
import { CqlTables, type WriteMode } from './cql.ts';
import { BUCKET_BLOCKS, flatRows, indexRows, outcomeRows, postingRows, type Row } from './tables.ts';
import { figure, milliseconds, note, repeat, summarise, type Times } from './timing.ts';

export const BLOCK_MS = 200;
const APPEND = 2_048;
export const SINGLE: WriteMode = { width: 128, batch: 1 };
export const BATCHED: WriteMode = { width: 16, batch: 30 };
const MODES: readonly WriteMode[] = [
  { width: 32, batch: 1 },
  { width: 128, batch: 1 },
  { width: 512, batch: 1 },
  { width: 4, batch: 30 },
  { width: 16, batch: 30 },
  { width: 64, batch: 30 },
];
const MODE_ROWS = 6_000;

/** Whether a posting row is of the hot address, the hot topic or a planted one. */
function isAsked({ values: [, position, value] }: Row): boolean {
  const bytes = value as Uint8Array;
  if (position === 0) return hotAddress.equals(bytes);
  return position === 1
    ? transferTopic.equals(bytes)
    : plantedTopic(0).subarray(0, 28).equals(bytes.subarray(0, 28));
}

/** The thin blocks: all of them into LMDB, and into CQL what queries for the planted logs read. */
export async function fillThin(content: Content, lmdb: LmdbStore, cql: CqlTables): Promise<void> {
  const matching = new Set(Array.from({ length: content.plants }, (_, at) => content.blocksOf(at)).flat());
  let bucket: Outcome[] = [];
  let pending: Outcome[] = [];
  let rows: Row[] = [];
  const flush = async (): Promise<void> => {
    await lmdb.append(pending);
    pending = [];
  };
  for (const outcome of content.thinBlocks()) {
    pending.push(outcome);
    bucket.push(outcome);
    if (matching.has(outcome.number)) {
      rows.push(...outcomeRows(outcome).bodies);
      rows.push(...indexRows([{ ...outcome, logs: [] }]).filter(({ table }) => table === 'canonical'));
    }
    if (pending.length === APPEND) await flush();
    if (bucket.length < BUCKET_BLOCKS && outcome.number + 1 < content.thin) continue;
    // Of what the full blocks among them log, only what is asked for: the rest is never read.
    rows.push(...postingRows(bucket).filter(isAsked));
    bucket = [];
    if (rows.length < 4_000) continue;
    await cql.write(rows, SINGLE);
    rows = [];
  }
  await flush();
  await cql.write(rows, SINGLE);
}

/** How long something took, and how much of it was work of this process. */
interface Span {
  readonly seconds: number;
  readonly ownCpu: number;
}

async function spanOf(run: () => Promise<unknown>): Promise<Span> {
  const before = process.cpuUsage();
  const taken = await milliseconds(run);
  const { user, system } = process.cpuUsage(before);
  return { seconds: taken / 1_000, ownCpu: (user + system) / 1e6 };
}

interface Written {
  readonly lmdb: Times;
  readonly single: Times;
  readonly batched: Times;
  readonly beside: Times;
  readonly head: Times;
  readonly indexByBatches: Span;
  readonly indexByRows: Span;
  readonly indexBeside: Span;
}

/** Buckets of full blocks, each written in another way. The first ones also have Java compile what the others measure. */
export async function writeFull(
  { indexed, committed, paced }: Buckets,
  lmdb: LmdbStore,
  cql: CqlTables,
): Promise<Written> {
  const [first = [], second = [], third = []] = indexed;
  const all = [...indexed.flat(), ...committed, ...paced];
  const warm = 16;
  const byLmdb = await repeat(all.length - warm, (turn) => lmdb.append([all[turn] as Outcome]), warm);
  for (const block of indexed.flat()) await cql.commit(block, true);
  note('indexing by batches, then by rows');
  const indexByBatches = await spanOf(() => cql.write(indexRows(first), BATCHED));
  const indexByRows = await spanOf(() => cql.write(indexRows(second), SINGLE));
  note(`one bucket took ${figure(indexByBatches.seconds)} s, then ${figure(indexByRows.seconds)} s`);
  const taken = { single: [] as number[], batched: [] as number[] };
  // In turns, so that noise of the machine hits both alike.
  for (const [at, block] of committed.entries()) {
    const kind = at % 2 === 1 ? 'batched' : 'single';
    taken[kind].push(await milliseconds(() => cql.commit(block, kind === 'batched')));
  }
  // As a leader does it: blocks come every 200 ms, and the bucket before them is indexed meanwhile.
  const commits: number[] = [];
  const indexing = spanOf(() => cql.write(indexRows(third), BATCHED));
  const started = performance.now();
  for (const [at, block] of paced.entries()) {
    await pause(Math.max(0, started + at * BLOCK_MS - performance.now()));
    commits.push(await milliseconds(() => cql.commit(block, true)));
  }
  const indexBeside = await indexing;
  const tip = all.at(-1) as Outcome;
  const head = await repeat(200, () => cql.moveHead(tip.number, fromHex(tip.hash)));
  return {
    ...{ lmdb: byLmdb, beside: summarise(commits), head, indexByBatches, indexByRows, indexBeside },
    ...{ single: summarise(taken.single), batched: summarise(taken.batched) },
  };
}

/** The full blocks by what is done with them: two buckets are only made canonical, one while a third is indexed. */
interface Buckets {
  readonly indexed: readonly (readonly Outcome[])[];
  readonly committed: readonly Outcome[];
  readonly paced: readonly Outcome[];
}

export function bucketsOf(full: readonly Outcome[]): Buckets {
  const bucket = (first: number, count = 1): readonly Outcome[] =>
    full.slice(first * BUCKET_BLOCKS, (first + count) * BUCKET_BLOCKS);
  return { indexed: [bucket(0), bucket(1), bucket(2)], committed: bucket(3, 2), paced: bucket(5) };
}

/** What each table takes on disk for these blocks alone. */
export async function sizesOf(
  cassandra: Cassandra,
  keyspace: string,
  compressor: string,
  blocks: readonly Outcome[],
): Promise<ReadonlyMap<string, number>> {
  const tables = await CqlTables.create(cassandra, keyspace, compressor);
  try {
    for (const block of blocks) await tables.commit(block, true);
    await tables.write([...indexRows(blocks), ...flatRows(blocks)], BATCHED);
    return await tables.tableBytes();
  } finally {
    await tables.close();
  }
}

/** Rows a second by how they are written: the same kind of row each time, new ones. The better of two rounds: noise only slows. */
export async function compareModes(blocks: readonly Outcome[], cql: CqlTables): Promise<string> {
  const rows = flatRows(blocks);
  const best = new Map<WriteMode, number>();
  let at = 0;
  for (const mode of [...MODES, ...MODES]) {
    const some = rows.slice(at, at + MODE_ROWS);
    at += MODE_ROWS;
    const taken = await milliseconds(() => cql.write(some, mode));
    best.set(mode, Math.max(best.get(mode) ?? 0, some.length / (taken / 1_000)));
  }
  await cql.write(rows.slice(at), BATCHED);
  return markdown(
    ['state rows without eras', 'rows/s', 'ms a request'],
    [...best].map(([{ batch, width }, perSecond]) => [
      `${batch === 1 ? 'single inserts' : `unlogged batches of ${batch}, any partitions`}, ${width} at a time`,
      figure(perSecond),
      figure((1_000 * width * batch) / perSecond),
    ]),
  );
}

/** Rows and bytes of a block, table by table. */
export function describeSizes(
  blocks: readonly Outcome[],
  lz4: ReadonlyMap<string, number>,
  zstd: ReadonlyMap<string, number>,
): string {
  const rows = new Map<string, number>();
  for (const row of [
    ...blocks.flatMap((block) => [...outcomeRows(block).bodies, outcomeRows(block).link]),
    ...indexRows(blocks),
    ...flatRows(blocks),
  ])
    rows.set(row.table, (rows.get(row.table) ?? 0) + 1);
  const line = (name: string, count: number, a: number, b: number): string[] => [
    name,
    figure(count / blocks.length),
    figure(a / blocks.length),
    figure(b / blocks.length),
  ];
  const planned = [...rows].filter(([table]) => table !== 'state_flat');
  const sum = (sizes: ReadonlyMap<string, number>): number =>
    planned.reduce((total, [table]) => total + (sizes.get(table) ?? 0), 0);
  return markdown(
    ['a full block', 'rows', 'bytes, LZ4', 'bytes, Zstd'],
    [
      ...[...rows].map(([table, count]) => line(table, count, lz4.get(table) ?? 0, zstd.get(table) ?? 0)),
      line(
        'all but state_flat',
        planned.reduce((total, [, count]) => total + count, 0),
        sum(lz4),
        sum(zstd),
      ),
    ],
  );
}
