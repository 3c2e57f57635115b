import type { Pace } from '../../../primitives/pace.ts';
import { StoreError } from '../../error.ts';
import type { LogMatch, LogQuery } from '../../interface.ts';
import { createMatcher, type LogMatcher } from '../../match.ts';
import { bucketBlocks, intersect, maxLogsPerBlock } from '../../postings.ts';
import type { Tables } from '../tables.ts';
import type { PostingPrefix } from '../value-hash.ts';
import { chooseDriver, PAUSE, type Paused, worthIntersecting } from './plan.ts';
import { PostingLane } from './posting-lane.ts';
import { openLogs, type StoredBlockLogs } from './read-logs.ts';

/** Work units of opening a block, and of going on to the next bucket. */
const blockWork = 4;
const bucketWork = 16;
/** Logs that are read between two looks at the pace. */
const logsAtOnce = 64;

/**
 * A search in slices: each is one synchronous stretch that runs in one snapshot, and gives what it found, maybe nothing.
 * The last one is what the generator returns.
 */
export type LogSearch = Generator<readonly LogMatch[], readonly LogMatch[], void>;

/** What all of a search needs. */
interface Search {
  readonly tables: Tables;
  readonly matches: LogMatcher;
  readonly pace: Pace;
}

/** Searches the canonical blocks `from`..`to`, all of which exist. A slice ends when the pace says so. */
export function* searchLogs(
  tables: Tables,
  prefix: PostingPrefix,
  query: LogQuery,
  [from, to]: readonly [number, number],
  pace: Pace,
): LogSearch {
  const lanes = [query.addresses, ...query.topics].flatMap((values, position) => {
    if (values.length === 0) return [];
    // Repeated values (or colliding ones) would be merged twice.
    const distinct = new Map(
      values.map((value) => prefix(position, value)).map((row) => [row.toString('latin1'), row]),
    );
    return [new PostingLane(tables, [...distinct.values()], [from, to], pace)];
  });
  const search: Search = { tables, matches: createMatcher(query), pace };
  const driver = yield* chooseDriver(lanes, Math.floor(from / bucketBlocks));
  if (driver === undefined) return yield* searchAll(search, from, to);
  const others = lanes.filter((lane) => lane !== driver);
  return yield* searchPlanned(search, driver, others);
}

/** Goes by the postings of one position; the others thin out what it names where that is worth it. */
function* searchPlanned(search: Search, driver: PostingLane, others: readonly PostingLane[]): LogSearch {
  let found: LogMatch[] = [];
  for (let row = yield* driver.next(); row !== undefined; row = yield* driver.next()) {
    const { bucket, places } = row;
    for (const lane of others) {
      if (places.length === 0) break;
      if (worthIntersecting(places.length, lane, bucket)) intersect(places, yield* lane.placesIn(bucket));
    }
    let isDue = search.pace.spend(bucketWork);
    for (let at = 0; at < places.length; ) {
      const offset = Math.floor((places[at] ?? 0) / maxLogsPerBlock);
      const base = offset * maxLogsPerBlock;
      const first = at;
      while (at < places.length && (places[at] ?? 0) < base + maxLogsPerBlock) at++;
      const indexes = places.slice(first, at).map((place) => place - base);
      const number = bucket * bucketBlocks + offset;
      const block = openLogs(search.tables, number, indexes[0] ?? 0);
      if (block === undefined)
        throw new StoreError('corrupt', `postings name block ${number}, which has no logs`);
      const match = yield* matchesIn(search, block, indexes);
      if (match !== undefined) found.push(match);
      isDue = search.pace.spend(blockWork) || isDue;
      if (!isDue) continue;
      yield found;
      found = [];
      isDue = false;
    }
    if (isDue) {
      yield found;
      found = [];
    }
  }
  return found;
}

/** Nothing to plan by: every block's logs are read. */
function* searchAll(search: Search, from: number, to: number): LogSearch {
  let found: LogMatch[] = [];
  for (let number = from; number <= to; number++) {
    const block = openLogs(search.tables, number, 0);
    if (block === undefined) throw new StoreError('corrupt', `block ${number} has no logs row`);
    const match = yield* matchesIn(search, block, undefined);
    if (match !== undefined) found.push(match);
    if (!search.pace.spend(blockWork)) continue;
    yield found;
    found = [];
  }
  return found;
}

/** Reads the bodies of candidates in one block, or of all logs, and keeps those that match; it may be a large block. */
function* matchesIn(
  { matches, pace }: Search,
  block: StoredBlockLogs,
  candidates: readonly number[] | undefined,
): Paused<LogMatch | undefined> {
  const indexes: number[] = [];
  const count = candidates?.length ?? block.length;
  for (let at = 0; at < count; ) {
    const end = Math.min(at + logsAtOnce, count);
    const isDue = pace.spend(end - at);
    for (; at < end; at++) {
      const index = candidates?.[at] ?? at;
      if (matches(block.log(index))) indexes.push(index);
    }
    if (isDue && at < count) yield PAUSE;
  }
  return indexes.length > 0 ? { block, indexes } : undefined;
}
