import type { Pace } from '../../../primitives/pace.ts';
import { bucketBlocks, decodeBlocks, placeOf, union } from '../../postings.ts';
import { postingKey, trailingNumber } from '../keys.ts';
import type { Tables } from '../tables.ts';
import { type Lane, PAUSE, type Paused } from './plan.ts';
import { decodeIndexes } from './write-postings.ts';

/** What a lane reads at a time at most, shared by its values; a row that is longer alone is still read. */
const chunkRows = 256;
const chunkBytes = 65_536;
/** The first chunk is small, since most lanes turn out short or unused; each next one is twice as large. */
const firstChunk = 1 / 16;
/** Work units of reading a chunk of one value. */
const fetchWork = 8;
/** Places that are decoded for one unit of work. */
const placesPerUnit = 64;

/** All that the tables hold of one value in one bucket. */
interface Row {
  readonly bucket: number;
  readonly closed: Uint8Array | undefined;
  readonly recent: { readonly number: number; readonly value: Uint8Array }[];
}

interface Cursor {
  readonly prefix: Uint8Array;
  /** The first bucket not read yet. */
  next: number;
  exhausted: boolean;
  buffer: Row[];
}

/**
 * Postings of one position, merged over its alternatives. Rows are copied out chunk by chunk and no snapshot stays
 * open between chunks: a row moved from `recent` to `postings` meanwhile is found there, because each chunk starts
 * at a bucket and looks into both.
 *
 * Of each value all rows of `postings` come before those of `recent`, or are of the same bucket: the one that blocks
 * appended share with blocks prepended, which go to `postings` at once.
 */
export class PostingLane implements Lane {
  readonly values: number;
  rowsRead = 0;
  bytesRead = 0;
  horizon: number;
  readonly #tables: Tables;
  readonly #from: number;
  readonly #to: number;
  readonly #cursors: Cursor[];
  readonly #pace: Pace;
  /** The part of a whole chunk that the next one has. */
  #scale = firstChunk;
  /** Rows up to the horizon that were not taken yet, by ascending bucket. */
  #ready: Row[][] = [];
  #taken = 0;

  constructor(
    tables: Tables,
    prefixes: readonly Uint8Array[],
    [from, to]: readonly [number, number],
    pace: Pace,
  ) {
    this.#tables = tables;
    this.#pace = pace;
    this.#from = from;
    this.#to = to;
    this.values = prefixes.length;
    const next = Math.floor(from / bucketBlocks);
    this.horizon = next - 1;
    this.#cursors = prefixes.map((prefix) => ({ prefix, next, exhausted: false, buffer: [] }));
  }

  get exhausted(): boolean {
    return this.horizon === Number.POSITIVE_INFINITY;
  }

  isShorterThan(limit: number): boolean {
    let left = limit;
    for (const { prefix } of this.#cursors) {
      const last = Math.floor(this.#to / bucketBlocks) + 1;
      const start = postingKey(prefix, Math.floor(this.#from / bucketBlocks));
      left -= this.#tables.postings.getKeysCount({ start, end: postingKey(prefix, last), limit: left });
      if (left <= 0) return false;
      const recent = {
        start: postingKey(prefix, this.#from),
        end: postingKey(prefix, this.#to + 1),
        limit: left,
      };
      left -= this.#tables.recent.getKeysCount(recent);
      if (left <= 0) return false;
    }
    return true;
  }

  *advance(): Paused<void> {
    if (this.exhausted) return;
    const { horizon: before } = this;
    for (const cursor of this.#cursors) {
      if (cursor.exhausted || (cursor.buffer.length > 0 && cursor.next - 1 !== before)) continue;
      // Each starts at a bucket and looks into both tables: it may be of a later snapshot than the others.
      this.#fetch(cursor);
      if (this.#pace.spend(fetchWork)) yield PAUSE;
    }
    this.#scale = Math.min(this.#scale * 2, 1);
    let horizon = Number.POSITIVE_INFINITY;
    for (const cursor of this.#cursors) if (!cursor.exhausted) horizon = Math.min(horizon, cursor.next - 1);
    const byBucket = new Map<number, Row[]>();
    for (const cursor of this.#cursors) {
      let count = 0;
      for (const row of cursor.buffer) {
        if (row.bucket > horizon) break;
        count++;
        const rows = byBucket.get(row.bucket);
        if (rows === undefined) byBucket.set(row.bucket, [row]);
        else rows.push(row);
      }
      if (count > 0) cursor.buffer = cursor.buffer.slice(count);
    }
    this.#ready = this.#ready.slice(this.#taken);
    this.#taken = 0;
    for (const [, rows] of [...byBucket].sort(([a], [b]) => a - b)) this.#ready.push(rows);
    this.horizon = horizon;
  }

  /** The next bucket with rows, and its places within the range; undefined at the end. */
  *next(): Paused<{ readonly bucket: number; readonly places: number[] } | undefined> {
    for (;;) {
      const rows = this.#ready[this.#taken];
      const bucket = rows?.[0]?.bucket;
      if (rows !== undefined && bucket !== undefined) {
        this.#taken++;
        return { bucket, places: yield* this.#decode(rows) };
      }
      if (this.exhausted) return undefined;
      yield* this.advance();
    }
  }

  /** Places in one bucket, for ascending buckets only; what lies before is dropped. */
  *placesIn(bucket: number): Paused<readonly number[]> {
    if (bucket > this.horizon) this.#seek(bucket);
    while (bucket > this.horizon) yield* this.advance();
    for (;;) {
      const rows = this.#ready[this.#taken];
      const own = rows?.[0]?.bucket;
      if (rows === undefined || own === undefined || own > bucket) return [];
      if (own === bucket) return yield* this.#decode(rows);
      this.#taken++;
    }
  }

  #seek(bucket: number): void {
    this.#ready = [];
    this.#taken = 0;
    for (const cursor of this.#cursors) {
      cursor.buffer = cursor.buffer.filter((row) => row.bucket >= bucket);
      if (cursor.next < bucket) cursor.next = bucket;
    }
    // A leap says that the search is sparse: start with few rows again.
    if (bucket > this.horizon + 1) this.#scale = 1 / chunkRows;
    this.horizon = bucket - 1;
  }

  #fetch(cursor: Cursor): void {
    const share = this.#scale / this.values;
    // Two rows tell a value that occurs once from one that goes on.
    const rowLimit = Math.max(2, chunkRows * share);
    const byteLimit = Math.max(1024, chunkBytes * share);
    let rows = 0;
    let bytes = 0;
    const last = Math.floor(this.#to / bucketBlocks);
    const count = (value: Uint8Array): void => {
      bytes += value.length;
      this.bytesRead += value.length;
    };
    const full = (): boolean => rows >= rowLimit || bytes >= byteLimit;

    const closed = {
      start: postingKey(cursor.prefix, cursor.next),
      end: postingKey(cursor.prefix, last + 1),
    };
    let row: Row | undefined;
    for (const { key, value } of this.#tables.postings.getRange(closed)) {
      const bucket = trailingNumber(key);
      row = { bucket, closed: value, recent: [] };
      cursor.buffer.push(row);
      cursor.next = bucket + 1;
      rows++;
      count(value);
      if (full()) break;
    }
    const start = postingKey(cursor.prefix, (row?.bucket ?? cursor.next) * bucketBlocks);
    const end = postingKey(cursor.prefix, this.#to + 1);
    for (const { key, value } of this.#tables.recent.getRange({ start, end })) {
      const number = trailingNumber(key);
      const bucket = Math.floor(number / bucketBlocks);
      if (row?.bucket !== bucket) {
        if (full()) break;
        row = { bucket, closed: undefined, recent: [] };
        cursor.buffer.push(row);
        cursor.next = bucket + 1;
        rows++;
      }
      row.recent.push({ number, value });
      count(value);
    }
    this.rowsRead += rows;
    if (!full() || cursor.next > last) cursor.exhausted = true;
  }

  /** Places of one bucket within the range, ascending; block by block, as all of a busy bucket may be many. */
  *#decode(rows: readonly Row[]): Paused<number[]> {
    const bucketStart = (rows[0]?.bucket ?? 0) * bucketBlocks;
    const first = Math.max(0, this.#from - bucketStart);
    const last = Math.min(bucketBlocks - 1, this.#to - bucketStart);
    const blocks: number[][] = [];
    const sources = new Uint32Array(bucketBlocks);
    const placesOf = (block: number): number[] => {
      sources[block] = (sources[block] ?? 0) + 1;
      blocks[block] ??= [];
      return blocks[block];
    };
    for (const row of rows) {
      if (row.closed !== undefined) {
        for (const block of decodeBlocks(row.closed, placesOf)) {
          if (this.#pace.spend((blocks[block]?.length ?? 0) / placesPerUnit)) yield PAUSE;
        }
      }
      for (const { number, value } of row.recent) {
        const places = placesOf(number - bucketStart);
        for (const index of decodeIndexes(value)) places.push(placeOf(number, index));
        if (this.#pace.spend(places.length / placesPerUnit)) yield PAUSE;
      }
    }
    const all: number[] = [];
    for (let block = first; block <= last; block++) {
      const places = blocks[block];
      if (places === undefined) continue;
      // Alternatives come one after the other, each ascending.
      for (const place of (sources[block] ?? 0) > 1 ? union(places) : places) all.push(place);
      if (this.#pace.spend(places.length / placesPerUnit)) yield PAUSE;
    }
    return all;
  }
}
