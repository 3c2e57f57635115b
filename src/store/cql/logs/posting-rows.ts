import type { Log } from '../../../chain/log.ts';
import { bucketBlocks, placeOf, union } from '../../postings.ts';
import type { RowReader, Statement } from '../session.ts';
import { decodeRow, encodeRow } from './places.ts';

/** Blocks whose places of one value share a row; a part of what places are counted in. */
export const ROW_BLOCKS = 64;
/** Blocks whose rows of one value share a partition. */
export const ERA_BLOCKS = 2 ** 20;

const SELECT =
  'SELECT first, places FROM postings WHERE copy = ? AND position = ? AND value = ? AND era = ? AND first >= ? AND first <= ?';
const INSERT =
  'INSERT INTO postings (copy, position, value, era, first, last, places) VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?';
const DELETE =
  'DELETE FROM postings USING TIMESTAMP ? WHERE copy = ? AND position = ? AND value = ? AND era = ? AND first >= ? AND first <= ?';

/** What postings are kept by: an address (position 0) or a topic (1 to 4). */
export interface PostingValue {
  readonly position: number;
  readonly value: Uint8Array;
}

/** The first block of the row that a block is in. */
export function rowStart(number: number): number {
  return number - (number % ROW_BLOCKS);
}

/** The last block of the row that a block is in. */
export function rowEnd(number: number): number {
  return rowStart(number) + ROW_BLOCKS - 1;
}

/** The blocks of one row, or of a part of it. */
interface RowBlocks {
  readonly number: number;
  readonly logs: readonly Log[];
}

/** Every value that occurs in these blocks, with the places where it does. */
function collect(blocks: readonly RowBlocks[]): Map<string, PostingValue & { readonly places: number[] }> {
  const found = new Map<string, PostingValue & { readonly places: number[] }>();
  for (const { number, logs } of blocks) {
    for (const [index, log] of logs.entries()) {
      for (const [position, value] of [log.address, ...log.topics].entries()) {
        const text = `${position}${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')}`;
        const entry = found.get(text) ?? { position, value, places: [] };
        found.set(text, entry);
        entry.places.push(placeOf(number, index));
      }
    }
  }
  return found;
}

/**
 * Writes the postings of ascending blocks of one row. A row is named by the blocks that it covers, so that whoever writes it writes the
 * same: those of a row that is prepended in parts are read together.
 */
export function postingStatements(copy: bigint, blocks: readonly RowBlocks[], time: bigint): Statement[] {
  const [first, last] = [blocks[0]?.number ?? 0, blocks.at(-1)?.number ?? 0];
  return [...collect(blocks).values()].map(({ position, value, places }) => ({
    query: INSERT,
    values: [
      ...[copy, position, value, Math.floor(first / ERA_BLOCKS), BigInt(first), BigInt(last)],
      ...[encodeRow(places), time],
    ],
  }));
}

/** Deletes the rows from block `from` on, within one row of blocks, of every value that occurs in these: those below were prepended. */
export function deletePostings(
  copy: bigint,
  blocks: readonly RowBlocks[],
  from: number,
  time: bigint,
): Statement[] {
  return [...collect(blocks).values()].map(({ position, value }) => ({
    query: DELETE,
    values: [
      ...[time, copy, position, value, Math.floor(from / ERA_BLOCKS)],
      ...[BigInt(from), BigInt(rowEnd(from))],
    ],
  }));
}

/** Where a value occurs: the places of each row, by the first block of the row. */
export type PlacesByRow = Map<number, number[]>;

/** Rows of one value, of which some may be left to read. */
export interface PostingRows {
  readonly rows: PlacesByRow;
  /** Every row of the range was read; else those below this block were. */
  readonly readTo: number;
}

/** Reads the rows of one value in a range within an era, at least `limit` of them if there are so many. */
export async function readPostings(
  session: RowReader,
  copy: bigint,
  { position, value }: PostingValue,
  [from, to]: readonly [number, number],
  limit: number,
): Promise<PostingRows> {
  const rows: PlacesByRow = new Map();
  let count = 0;
  const values = [
    ...[copy, position, value, Math.floor(from / ERA_BLOCKS)],
    ...[BigInt(rowStart(from)), BigInt(to)],
  ];
  // One more than is asked for tells whether there are more.
  const limited = Number.isFinite(limit);
  const read = limited
    ? session.rows(`${SELECT} LIMIT ?`, [...values, limit + 1])
    : session.rows(SELECT, values);
  for (const row of await read) {
    const start = rowStart(Number(row['first'] as bigint));
    if (++count > limit) return withoutLast(rows, start);
    const known = rows.get(start);
    const places = known ?? [];
    decodeRow(row['places'] as Buffer, places);
    // Rows that were prepended in parts may say things twice.
    rows.set(start, known === undefined ? places : union(places));
  }
  return { rows, readTo: to + 1 };
}

/** A row that was read in part does not count as read. */
function withoutLast(rows: PlacesByRow, start: number): PostingRows {
  rows.delete(start);
  return { rows, readTo: start };
}

/** The block of a place in a row, and the log's index. */
export function blockOfPlace(start: number, offset: number): number {
  return start - (start % bucketBlocks) + offset;
}
