import { ByteReader, ByteWriter, CodecError } from '../../../chain/byte-codec.ts';
import type { Log } from '../../../chain/log.ts';
import { bucketBlocks, decodePlaces, encodePlaces, maxLogsPerBlock, placeOf, union } from '../../postings.ts';
import { postingKey, samePrefix, trailingNumber } from '../keys.ts';
import { readMerge, writeMerge } from '../meta.ts';
import type { Tables } from '../tables.ts';
import { type PostingPrefix, prefixBytes } from '../value-hash.ts';

/** Log indexes by posting prefix; keyed by the prefix as latin1, whose order is that of the bytes. */
export type Occurrences = Map<string, number[]>;

/** Adds where each value of a block's logs occurs; `place` maps a log index to what is stored. */
export function collectOccurrences(
  logs: readonly Log[],
  prefix: PostingPrefix,
  place: (index: number) => number,
  into: Occurrences,
): void {
  const add = (position: number, value: Uint8Array, index: number): void => {
    const key = prefix(position, value).toString('latin1');
    const list = into.get(key);
    if (list === undefined) into.set(key, [place(index)]);
    else list.push(place(index));
  };
  logs.forEach((log, index) => {
    add(0, log.address, index);
    log.topics.forEach((topic, at) => {
      add(at + 1, topic, index);
    });
  });
}

/** Writes a block's rows of `recent`; returns how many. */
export function writeRecent(
  tables: Tables,
  number: number,
  logs: readonly Log[],
  prefix: PostingPrefix,
): number {
  const found: Occurrences = new Map();
  collectOccurrences(logs, prefix, (index) => index, found);
  for (const [key, indexes] of sorted(found)) {
    tables.recent.putSync(postingKey(Buffer.from(key, 'latin1'), number), encodeIndexes(indexes));
  }
  return found.size;
}

/** Deletes a block's rows of `recent`; returns how many values it looked for. */
export function deleteRecent(
  tables: Tables,
  number: number,
  logs: readonly Log[],
  prefix: PostingPrefix,
): number {
  const found: Occurrences = new Map();
  collectOccurrences(logs, prefix, (index) => index, found);
  for (const [key] of sorted(found)) {
    tables.recent.removeSync(postingKey(Buffer.from(key, 'latin1'), number));
  }
  return found.size;
}

/** Deletes what `postings` hold of a block's values in its bucket, other blocks included; returns how many values. */
export function deleteClosed(
  tables: Tables,
  number: number,
  logs: readonly Log[],
  prefix: PostingPrefix,
): number {
  const found: Occurrences = new Map();
  collectOccurrences(logs, prefix, (index) => index, found);
  const bucket = Math.floor(number / bucketBlocks);
  for (const [key] of sorted(found)) {
    tables.postings.removeSync(postingKey(Buffer.from(key, 'latin1'), bucket));
  }
  return found.size;
}

/** Whether `recent` may hold rows of a block: once a merge is done, all those below its bound are moved. */
export function mayBeRecent(tables: Tables, number: number): boolean {
  const { bound, next } = readMerge(tables);
  return next.length > 0 || number >= bound;
}

/**
 * Writes blocks straight into `postings`, a bucket at a time: bulk appends and blocks below the lowest skip `recent`.
 * The bucket `joined` may have rows already.
 */
export class BucketWriter {
  readonly #tables: Tables;
  readonly #prefix: PostingPrefix;
  readonly #joined: number | undefined;
  #bucket = -1;
  #found: Occurrences = new Map();

  constructor(tables: Tables, prefix: PostingPrefix, joined?: number) {
    this.#joined = joined;
    this.#tables = tables;
    this.#prefix = prefix;
  }

  add(number: number, logs: readonly Log[]): void {
    const bucket = Math.floor(number / bucketBlocks);
    if (bucket !== this.#bucket) this.flush();
    this.#bucket = bucket;
    collectOccurrences(logs, this.#prefix, (index) => placeOf(number, index), this.#found);
  }

  flush(): void {
    for (const [key, places] of sorted(this.#found)) {
      const row = postingKey(Buffer.from(key, 'latin1'), this.#bucket);
      if (this.#bucket === this.#joined) addPlaces(this.#tables, row, places);
      else this.#tables.postings.putSync(row, encodePlaces(places));
    }
    this.#found = new Map();
  }
}

/**
 * Moves rows of blocks below `bound` (a bucket boundary deeper than any revert) from `recent` into `postings`, at
 * most about `budget` rows, going on where the last call stopped. All rows of one value move together, so for each
 * value every row of `postings` is older than every row of `recent`, in any snapshot.
 * A bucket of a busy chain is millions of rows: moved in one go they would stall the writer for seconds.
 */
export function mergeRecent(tables: Tables, bound: number, budget: number): void {
  let { bound: target, next } = readMerge(tables);
  if (next.length === 0) {
    if (bound <= target) return;
    target = bound;
    next = new Uint8Array(1);
  }
  for (let left = budget; left > 0; ) {
    const { moved, seen, resume } = takeRows(tables, target, next, Math.min(left, 65_536));
    for (const group of moved) moveGroup(tables, group);
    left -= seen;
    next = resume;
    if (next.length > 0) continue;
    if (bound <= target) break;
    target = bound;
    next = new Uint8Array(1);
  }
  writeMerge(tables, { bound: target, next });
}

interface Group {
  readonly prefix: Uint8Array;
  readonly rows: { readonly key: Uint8Array; readonly number: number; readonly value: Uint8Array }[];
}

function takeRows(
  tables: Tables,
  bound: number,
  start: Uint8Array,
  limit: number,
): { moved: Group[]; seen: number; resume: Uint8Array } {
  const moved: Group[] = [];
  let group: Group | undefined;
  let seen = 0;
  for (const { key, value } of tables.recent.getRange({ start })) {
    if (group === undefined || !samePrefix(group.prefix, key, prefixBytes)) {
      if (seen >= limit) return { moved, seen, resume: key };
      group = { prefix: key.subarray(0, prefixBytes), rows: [] };
      moved.push(group);
    }
    seen++;
    const number = trailingNumber(key);
    if (number < bound) group.rows.push({ key, number, value });
  }
  return { moved, seen, resume: new Uint8Array(0) };
}

function moveGroup(tables: Tables, group: Group): void {
  let bucket = -1;
  let places: number[] = [];
  const flush = (): void => {
    if (places.length > 0) addPlaces(tables, postingKey(group.prefix, bucket), places);
    places = [];
  };
  for (const { key, number, value } of group.rows) {
    const own = Math.floor(number / bucketBlocks);
    if (own !== bucket) flush();
    bucket = own;
    for (const index of decodeIndexes(value)) places.push(placeOf(number, index));
    tables.recent.removeSync(key);
  }
  flush();
}

/** Adds places to a row of `postings`: blocks above and below may have come to one bucket by different ways. */
function addPlaces(tables: Tables, row: Uint8Array, places: readonly number[]): void {
  const stored = tables.postings.getBinary(row);
  if (stored === undefined) {
    tables.postings.putSync(row, encodePlaces(places));
    return;
  }
  const all: number[] = [];
  decodePlaces(stored, all);
  tables.postings.putSync(row, encodePlaces(union([...all, ...places])));
}

/** Encodes the ascending log indexes of one value in one block. */
export function encodeIndexes(indexes: readonly number[]): Buffer {
  const out = new ByteWriter(indexes.length + 8);
  let previous = 0;
  for (const index of indexes) {
    out.varint(index - previous);
    previous = index;
  }
  return out.finish();
}

/** Decodes what `encodeIndexes` wrote. */
export function decodeIndexes(bytes: Uint8Array): number[] {
  const input = new ByteReader(bytes);
  const indexes: number[] = [];
  for (let index = 0; input.remaining > 0; ) {
    index += input.varint();
    if (index >= maxLogsPerBlock) throw new CodecError('log index out of range');
    indexes.push(index);
  }
  return indexes;
}

function sorted(found: Occurrences): [string, number[]][] {
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}
