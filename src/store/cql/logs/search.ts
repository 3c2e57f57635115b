import { Pace } from '../../../primitives/pace.ts';
import { StoreError } from '../../error.ts';
import type { LogMatch, LogQuery } from '../../interface.ts';
import { createMatcher, type LogMatcher } from '../../match.ts';
import { union } from '../../postings.ts';
import { type ChunkedLogs, readLogChunks } from '../bodies.ts';
import type { RowReader } from '../session.ts';
import { countPlaces, intersectPlaces, logsByBlock } from './places.ts';
import {
  blockOfPlace,
  ERA_BLOCKS,
  type PlacesByRow,
  type PostingValue,
  ROW_BLOCKS,
  readPostings,
  rowEnd,
} from './posting-rows.ts';

/** Rows of a position that are read to see how often its values occur. */
const PROBE_ROWS = 32;
/** Rows of a value that are read at a time, whatever number of blocks they are spread over. */
const ROWS_AT_ONCE = 64;
/** Blocks whose candidates are compared with other positions together. */
const WINDOW_BLOCKS = ROWS_AT_ONCE * ROW_BLOCKS;
/** Candidates of a window above which it pays to read more postings before bodies. */
const MANY_CANDIDATES = 64;
/** Blocks whose logs are read at the same time. */
const BLOCKS_AT_ONCE = 32;
/** Places that are decoded, or logs looked at, for one unit of work. */
const PLACES_PER_UNIT = 16;

/** What a search reads from, and what it asks after every pause. */
export interface LogSearch {
  readonly session: RowReader;
  readonly copy: bigint;
  /** The hash of an indexed block: asked for where rows of several were found. */
  readonly canonicalHash: (number: number) => Promise<string | undefined>;
  /** Throws when the search is to end. */
  readonly checkpoint: () => void;
}

/** One value in one era, as far as it was read. */
interface Cursor {
  readonly value: PostingValue;
  /** Ascending places by row; complete below `readTo`, without those that were taken. */
  readonly rows: PlacesByRow;
  readonly readTo: number;
}

/** The alternatives of one position. */
interface Lane {
  readonly cursors: Cursor[];
  /** How many places were found per block, as far as was read at first. */
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
  // From one row that was found to the next: how many blocks are between them costs nothing.
  for (let start = from; start <= to; ) {
    if (readTo(driver) <= start) await advance(search, driver, to);
    const end = Math.min(to, readTo(driver) - 1);
    const rows = take(driver, end);
    if (pace.spend(1)) await rest(search, pace);
    for (const window of windowsOf(rows, to)) await narrow(search, rows, others, window, pace);
    yield* readBlocks(search, matches, candidatesIn(rows, [start, end]), pace);
    start = end + 1;
  }
}

/** Reads a little of each alternative. */
async function probe(
  search: LogSearch,
  values: readonly PostingValue[],
  [from, to]: readonly [number, number],
): Promise<Lane> {
  const limit = Math.max(2, Math.floor(PROBE_ROWS / values.length));
  const cursors = await Promise.all(
    values.map((value) => readOn(search, { value, rows: new Map(), readTo: from }, to, limit)),
  );
  const density = cursors.reduce(
    (sum, cursor) => sum + count(cursor.rows) / Math.max(1, cursor.readTo - from),
    0,
  );
  return { cursors, density };
}

/** The first block of which it is not known yet where the values of a lane occur. */
function readTo({ cursors }: Lane): number {
  return cursors.reduce((least, cursor) => Math.min(least, cursor.readTo), Number.POSITIVE_INFINITY);
}

/** Reads more of every alternative of which not much is left, all at the same time: what is left of the others stays bounded. */
async function advance(search: LogSearch, { cursors }: Lane, to: number): Promise<void> {
  const read = cursors.map(async (cursor) => {
    const isShort = cursor.readTo <= to && cursor.rows.size < ROWS_AT_ONCE / 2;
    return isShort ? readOn(search, cursor, to, ROWS_AT_ONCE) : cursor;
  });
  cursors.splice(0, cursors.length, ...(await Promise.all(read)));
}

/** Reads on where a value was read to: about so many rows, but one at least. */
async function readOn(
  { session, copy }: LogSearch,
  { value, rows, readTo: from }: Cursor,
  to: number,
  limit: number,
): Promise<Cursor> {
  // A row that was prepended in many parts may be more than the limit.
  for (let most = limit; ; most *= 2) {
    const read = await readPostings(session, copy, value, [from, to], most);
    if (read.readTo > from) return { value, rows: new Map([...rows, ...read.rows]), readTo: read.readTo };
  }
}

/** Takes the rows of a lane up to a block; all of them were read. */
function take({ cursors }: Lane, end: number): PlacesByRow {
  const taken = cursors.map(({ rows }) => rowsBetween(rows, [0, end]));
  for (const [at, own] of taken.entries()) for (const row of own.keys()) cursors[at]?.rows.delete(row);
  return merge(taken);
}

function rowsBetween(rows: PlacesByRow, [from, to]: readonly [number, number]): PlacesByRow {
  return new Map([...rows].filter(([row]) => row >= from && row <= to));
}

/** The blocks of rows up to `to`, in windows. */
function windowsOf(rows: PlacesByRow, to: number): (readonly [number, number])[] {
  const windows = Map.groupBy(rows.keys(), (row) => Math.floor(row / WINDOW_BLOCKS));
  return [...windows.values()].map((own) => [own[0] ?? 0, Math.min(to, rowEnd(own.at(-1) ?? 0))]);
}

/** Takes out of the rows of a window what other positions do not have, where reading those is less than reading logs. */
async function narrow(
  search: LogSearch,
  rows: PlacesByRow,
  others: readonly Lane[],
  [from, to]: readonly [number, number],
  pace: Pace,
): Promise<void> {
  const own = rowsBetween(rows, [from, to]);
  let left = count(own);
  for (const lane of others) {
    if (readTo(lane) <= to && left <= MANY_CANDIDATES) continue;
    const other = await rowsIn(search, lane, [from, to]);
    for (const [row, places] of own) intersectPlaces(places, other.get(row) ?? []);
    left = count(own);
    if (pace.spend(left / PLACES_PER_UNIT)) await rest(search, pace);
  }
}

/** The rows of a lane in a window; what was not read before is read for it alone. */
async function rowsIn(
  { session, copy }: LogSearch,
  { cursors }: Lane,
  [from, to]: readonly [number, number],
): Promise<PlacesByRow> {
  const all = Number.POSITIVE_INFINITY;
  const read = cursors.map(async ({ value, rows, readTo: known }) =>
    known > to
      ? rowsBetween(rows, [from, to])
      : (await readPostings(session, copy, value, [from, to], all)).rows,
  );
  return merge(await Promise.all(read));
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
  for (const places of rows.values()) sum += countPlaces(places);
  return sum;
}

/** The blocks of a window that rows name, with the logs in question. */
function* candidatesIn(
  rows: PlacesByRow,
  [from, to]: readonly [number, number],
): Generator<Candidates, void, void> {
  for (const [row, places] of rows) {
    for (const [offset, indexes] of logsByBlock(places)) {
      const number = blockOfPlace(row, offset);
      if (number >= from && number <= to) yield [number, indexes];
    }
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
