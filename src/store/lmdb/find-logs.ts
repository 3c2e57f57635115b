import { StoreError } from '../error.ts';
import type { BlockLogs, LogMatch, LogQuery } from '../interface.ts';
import { createMatcher, type LogMatcher } from '../match.ts';
import { chooseDriver, intersect, worthIntersecting } from './plan.ts';
import { bucketBlocks, maxLogsPerBlock } from './posting-codec.ts';
import { PostingLane } from './posting-lane.ts';
import { openLogs } from './read-logs.ts';
import type { Tables } from './tables.ts';
import type { PostingPrefix } from './value-hash.ts';

/** One synchronous stretch of a search ends at either limit, so that other requests of the thread get their turn. */
const blocksPerSlice = 128;
const logsPerSlice = 2048;

/** A search that goes on where it stopped; each slice runs in one snapshot. */
export interface LogSearch {
  nextSlice(): LogSlice;
}

export interface LogSlice {
  readonly matches: readonly LogMatch[];
  readonly done: boolean;
}

/** Plans a query over the canonical blocks `from`..`to`, all of which exist. */
export function searchLogs(
  tables: Tables,
  prefix: PostingPrefix,
  query: LogQuery,
  from: number,
  to: number,
): LogSearch {
  const lanes = [query.addresses, ...query.topics].flatMap((values, position) => {
    if (values.length === 0) return [];
    // Repeated values (or colliding ones) would be merged twice.
    const distinct = new Map(
      values.map((value) => prefix(position, value)).map((row) => [row.toString('latin1'), row]),
    );
    return [new PostingLane(tables, [...distinct.values()], from, to)];
  });
  const matches = createMatcher(query);
  const driver = chooseDriver(lanes, Math.floor(from / bucketBlocks));
  if (driver === undefined) return new FullSearch(tables, matches, from, to);
  const others = lanes.filter((lane) => lane !== driver);
  return new PlannedSearch(tables, matches, driver, others);
}

class PlannedSearch implements LogSearch {
  readonly #tables: Tables;
  readonly #matches: LogMatcher;
  readonly #driver: PostingLane;
  readonly #others: readonly PostingLane[];
  #bucket = 0;
  #places: readonly number[] = [];
  #at = 0;

  constructor(tables: Tables, matches: LogMatcher, driver: PostingLane, others: readonly PostingLane[]) {
    this.#tables = tables;
    this.#matches = matches;
    this.#driver = driver;
    this.#others = others;
  }

  nextSlice(): LogSlice {
    const matches: LogMatch[] = [];
    let work = 0;
    while (matches.length < blocksPerSlice && work < logsPerSlice) {
      if (this.#at >= this.#places.length) {
        if (!this.#nextBucket()) return { matches, done: true };
        work += 16;
        continue;
      }
      const before = this.#at;
      const match = this.#checkBlock();
      if (match !== undefined) matches.push(match);
      work += 4 + this.#at - before;
    }
    return { matches, done: false };
  }

  #nextBucket(): boolean {
    const row = this.#driver.next();
    if (row === undefined) return false;
    const { bucket, places } = row;
    for (const lane of this.#others) {
      if (places.length === 0) break;
      if (worthIntersecting(places.length, lane, bucket)) intersect(places, lane.placesIn(bucket));
    }
    this.#bucket = bucket;
    this.#places = places;
    this.#at = 0;
    return true;
  }

  /** Reads the bodies of the candidates in the next block and keeps those that match. */
  #checkBlock(): LogMatch | undefined {
    const first = this.#places[this.#at] ?? 0;
    const offset = Math.floor(first / maxLogsPerBlock);
    const base = offset * maxLogsPerBlock;
    const number = this.#bucket * bucketBlocks + offset;
    const block = openLogs(this.#tables, number, first - base);
    if (block === undefined)
      throw new StoreError('corrupt', `postings name block ${number}, which has no logs`);
    const indexes: number[] = [];
    for (; this.#at < this.#places.length; this.#at++) {
      const index = (this.#places[this.#at] ?? 0) - base;
      if (index >= maxLogsPerBlock) break;
      if (this.#matches(block.log(index))) indexes.push(index);
    }
    return indexes.length > 0 ? { block, indexes } : undefined;
  }
}

/** Nothing to plan by: every block's logs are read. */
class FullSearch implements LogSearch {
  readonly #tables: Tables;
  readonly #matches: LogMatcher;
  readonly #to: number;
  #next: number;

  constructor(tables: Tables, matches: LogMatcher, from: number, to: number) {
    this.#tables = tables;
    this.#matches = matches;
    this.#next = from;
    this.#to = to;
  }

  nextSlice(): LogSlice {
    const matches: LogMatch[] = [];
    let work = 0;
    for (; matches.length < blocksPerSlice && work < logsPerSlice; this.#next++) {
      if (this.#next > this.#to) return { matches, done: true };
      const block = openLogs(this.#tables, this.#next, 0);
      if (block === undefined) throw new StoreError('corrupt', `block ${this.#next} has no logs row`);
      work += 4 + block.length;
      const indexes = matchingIndexes(block, this.#matches);
      if (indexes.length > 0) matches.push({ block, indexes });
    }
    return { matches, done: false };
  }
}

/** Ascending indexes of the matching logs of a block. */
function matchingIndexes(block: BlockLogs, matches: LogMatcher): number[] {
  const indexes: number[] = [];
  for (let index = 0; index < block.length; index++) if (matches(block.log(index))) indexes.push(index);
  return indexes;
}
