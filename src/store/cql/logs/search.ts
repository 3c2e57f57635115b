import { Pace } from '../../../primitives/pace.ts';
import { StoreError } from '../../error.ts';
import type { LogMatch, LogQuery } from '../../interface.ts';
import { createMatcher, type LogMatcher } from '../../match.ts';
import { intersect, maxLogsPerBlock, union } from '../../postings.ts';
import { type ChunkedLogs, readLogChunks } from '../bodies.ts';
import type { Session } from '../session.ts';
import {
  blockOfPlace,
  ERA_BLOCKS,
  type PlacesByRow,
  type PostingValue,
  ROW_BLOCKS,
  readPostings,
  rowStart,
} from './posting-rows.ts';

/** Rows of a value that are read to see how often it occurs. */
const PROBE_ROWS = 32;
/** Rows of blocks that are planned together. */
const WINDOW_BLOCKS = 64 * ROW_BLOCKS;
/** Candidates of a window above which it pays to read more postings before bodies. */
const MANY_CANDIDATES = 64;
/** Blocks whose logs are read at the same time. */
const BLOCKS_AT_ONCE = 32;
/** Places that are decoded, or logs looked at, for one unit of work. */
const PLACES_PER_UNIT = 16;

/** What a search reads from, and what it asks after every pause. */
export interface LogSearch {
  readonly session: Session;
  readonly copy: bigint;
  /** The hash of an indexed block: asked for where rows of several were found. */
  readonly canonicalHash: (number: number) => Promise<string | undefined>;
  /** Throws when the search is to end. */
  readonly checkpoint: () => void;
}

/** The alternatives of one position, as far as they were read in one era. */
interface Lane {
  readonly values: readonly PostingValue[];
  /** Ascending places by row; complete below `readTo`. */
  readonly rows: PlacesByRow;
  readonly readTo: number;
  /** How many places were read per block, as far as they were. */
  readonly density: number;
}

/** Matching logs of the indexed blocks `from`..`to`, ascending. */
export async function* searchIndex(
  search: LogSearch,
  query: LogQuery,
  [from, to]: readonly [number, number],
): AsyncGenerator<LogMatch, void, undefined> {
  const matches = createMatcher(query);
  const positions = [query.addresses, ...query.topics].flatMap((values, position) =>
    values.length === 0 ? [] : [distinct(values).map((value) => ({ position, value }))],
  );
  const pace = new Pace();
  if (positions.length === 0) {
    yield* readBlocks(search, matches, everyBlock(from, to), pace);
    return;
  }
  for (let start = from; start <= to; ) {
    const end = Math.min(to, start - (start % ERA_BLOCKS) + ERA_BLOCKS - 1);
    yield* searchEra(search, positions, matches, [start, end], pace);
    start = end + 1;
  }
}

/** A block, and the indexes of the logs that may match; all of them without a list. */
type Candidates = readonly [number: number, indexes: readonly number[] | undefined];

async function* searchEra(
  search: LogSearch,
  positions: readonly (readonly PostingValue[])[],
  matches: LogMatcher,
  [from, to]: readonly [number, number],
  pace: Pace,
): AsyncGenerator<LogMatch, void, undefined> {
  const lanes = await Promise.all(positions.map((values) => probe(search, values, [from, to])));
  await rest(search, pace);
  const [driver, ...others] = lanes.toSorted((a, b) => a.density - b.density);
  if (driver === undefined) throw new TypeError('a search has at least one position');
  for (let start = from; start <= to; start += WINDOW_BLOCKS) {
    const window = [start, Math.min(to, start + WINDOW_BLOCKS - 1)] as const;
    const rows = await rowsIn(search, driver, window);
    if (pace.spend(1)) await rest(search, pace);
    if (rows.size === 0) continue;
    let left = count(rows);
    for (const lane of others) {
      const isRead = lane.readTo > window[1];
      if (!isRead && left <= MANY_CANDIDATES) continue;
      const other = await rowsIn(search, lane, window);
      for (const [row, places] of rows) intersect(places, other.get(row) ?? []);
      left = count(rows);
      if (pace.spend(left / PLACES_PER_UNIT)) await rest(search, pace);
    }
    yield* readBlocks(search, matches, candidatesIn(rows, window), pace);
  }
}

/** Reads a little of each alternative. */
async function probe(
  { session, copy }: LogSearch,
  values: readonly PostingValue[],
  [from, to]: readonly [number, number],
): Promise<Lane> {
  const limit = Math.max(2, Math.floor(PROBE_ROWS / values.length));
  const read = await Promise.all(
    values.map((value) => readPostings(session, copy, value, [from, to], limit)),
  );
  const readTo = Math.min(...read.map((rows) => rows.readTo));
  const rows = merge(read.map((part) => part.rows));
  for (const row of rows.keys()) if (row >= readTo) rows.delete(row);
  const density = read.reduce((sum, part) => sum + count(part.rows) / Math.max(1, part.readTo - from), 0);
  // What does not occur here need not be asked for again.
  const occurring = values.filter((_, at) => (read[at]?.rows.size ?? 0) > 0 || (read[at]?.readTo ?? 0) <= to);
  return { values: occurring, rows, readTo, density };
}

/** The rows of a lane in a window, as lists of its own. */
async function rowsIn(
  { session, copy }: LogSearch,
  lane: Lane,
  [from, to]: readonly [number, number],
): Promise<PlacesByRow> {
  if (lane.readTo > to) {
    const own = [...lane.rows].filter(([row]) => row >= rowStart(from) && row <= to);
    return new Map(own.map(([row, places]) => [row, [...places]]));
  }
  const all = Number.POSITIVE_INFINITY;
  const read = await Promise.all(
    lane.values.map((value) => readPostings(session, copy, value, [from, to], all)),
  );
  return merge(read.map(({ rows }) => rows));
}

/** The places of all alternatives, ascending. */
function merge(parts: readonly PlacesByRow[]): PlacesByRow {
  const merged: PlacesByRow = new Map();
  for (const part of parts) {
    for (const [row, places] of part) merged.set(row, [...(merged.get(row) ?? []), ...places]);
  }
  const rows = [...merged].toSorted(([a], [b]) => a - b);
  return new Map(rows.map(([row, places]) => [row, parts.length > 1 ? union(places) : places]));
}

function count(rows: PlacesByRow): number {
  let sum = 0;
  for (const places of rows.values()) sum += places.length;
  return sum;
}

/** The blocks of a window that rows name, with the logs in question. */
function* candidatesIn(
  rows: PlacesByRow,
  [from, to]: readonly [number, number],
): Generator<Candidates, void, void> {
  for (const [row, places] of rows) {
    const byBlock = new Map<number, number[]>();
    for (const place of places) {
      const number = blockOfPlace(row, Math.floor(place / maxLogsPerBlock));
      const indexes = byBlock.get(number) ?? [];
      if (number >= from && number <= to) byBlock.set(number, indexes);
      indexes.push(place % maxLogsPerBlock);
    }
    yield* byBlock;
  }
}

function* everyBlock(from: number, to: number): Generator<Candidates, void, void> {
  for (let number = from; number <= to; number++) yield [number, undefined];
}

/** Reads the logs in question, a few blocks at a time, and gives those that match. */
async function* readBlocks(
  search: LogSearch,
  matches: LogMatcher,
  candidates: Iterator<Candidates, void, void>,
  pace: Pace,
): AsyncGenerator<LogMatch, void, undefined> {
  for (;;) {
    const some: Candidates[] = [];
    for (let next = candidates.next(); next.done !== true; next = candidates.next()) {
      some.push(next.value);
      if (some.length === BLOCKS_AT_ONCE) break;
    }
    if (some.length === 0) return;
    const blocks = await Promise.all(some.map(([number, indexes]) => readLogs(search, number, indexes)));
    await rest(search, pace);
    for (const [at, block] of blocks.entries()) {
      const wanted = some[at]?.[1] ?? Array.from({ length: block.length }, (_, index) => index);
      const indexes: number[] = [];
      for (const index of wanted) {
        if (matches(block.log(index))) indexes.push(index);
        if (pace.spend(1 / PLACES_PER_UNIT)) await rest(search, pace);
      }
      if (indexes.length > 0) yield { block, indexes };
    }
  }
}

async function readLogs(
  { session, copy, canonicalHash, checkpoint }: LogSearch,
  number: number,
  indexes: readonly number[] | undefined,
): Promise<ChunkedLogs> {
  const found = await readLogChunks(session, copy, number, indexes);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  // Rows of blocks that are not canonical are deleted, but not at once.
  const hash = await canonicalHash(number);
  const block = found.find((candidate) => candidate.hash === hash);
  if (block !== undefined) return block;
  checkpoint();
  throw new StoreError('corrupt', `block ${number} has no logs`);
}

async function rest({ checkpoint }: LogSearch, pace: Pace): Promise<void> {
  await pace.rest();
  checkpoint();
}

function distinct(values: readonly Uint8Array[]): Uint8Array[] {
  return [...new Map(values.map((value) => [Buffer.from(value).toString('latin1'), value])).values()];
}
