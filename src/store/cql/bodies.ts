import type { Log } from '../../chain/log.ts';
import { LogChunk, logsPerChunk } from '../../chain/log-codec.ts';
import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import { decodeDiff } from '../../chain/outcome-codec.ts';
import { decodeReceipts, encodeReceipts } from '../../chain/receipt-codec.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import { StoreError } from '../error.ts';
import type { BlockLogs } from '../interface.ts';
import { logChunksOf } from '../log-chunks.ts';
import type { RowReader, Session, Statement } from './session.ts';

/** The parts of a block; the number is their place in its partition. */
const KINDS = { header: 0, block: 1, receipts: 2, diff: 3, logs: 4 } as const;
export type PartKind = keyof typeof KINDS;

/** Larger parts are cut: a server takes a row whole into memory. */
const PIECE_BYTES = 512 * 1024;
const LINKS_A_BUCKET = 1_024;

const INSERT =
  'INSERT INTO bodies (copy, number, kind, part, hash, bytes) VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?';
const INSERT_LINK =
  'INSERT INTO links (copy, bucket, number, hash, parent) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?';

const linkBucket = (number: number): bigint => BigInt(Math.floor(number / LINKS_A_BUCKET));

/** All rows of a block, its diff if that is kept. */
export function blockStatements(
  copy: bigint,
  outcome: Outcome,
  { time, diff }: { readonly time: bigint; readonly diff: boolean },
): Statement[] {
  const { number } = outcome;
  const hash = fromHex(outcome.hash);
  const parts: (readonly [PartKind, readonly Uint8Array[]])[] = [
    ['header', pieces(outcome.header)],
    ['block', pieces(outcome.block)],
    ['receipts', pieces(encodeReceipts(outcome.receipts))],
    ['logs', logChunksOf(outcome)],
    ...(diff ? [['diff', pieces(outcome.diffBytes)] as const] : []),
  ];
  return parts.flatMap(([kind, rows]) =>
    rows.map((bytes, part) => ({
      query: INSERT,
      values: [copy, BigInt(number), KINDS[kind], part, hash, bytes, time],
    })),
  );
}

/** The row that tells of a block, whatever becomes of it. */
export function linkStatement(copy: bigint, { number, hash, parentHash }: Outcome, time: bigint): Statement {
  const values = [copy, linkBucket(number), BigInt(number), fromHex(hash), fromHex(parentHash), time];
  return { query: INSERT_LINK, values };
}

/** A block that was written once: it may be canonical or not. */
export interface Link extends BlockRef {
  readonly parentHash: Hex;
}

/** All blocks that were ever written with these numbers. */
export async function readLinks(session: Session, copy: bigint, from: number, to: number): Promise<Link[]> {
  const links: Link[] = [];
  for (let bucket = linkBucket(from); bucket <= linkBucket(to); bucket++) {
    const query =
      'SELECT number, hash, parent FROM links WHERE copy = ? AND bucket = ? AND number >= ? AND number <= ?';
    for (const row of await session.rows(query, [copy, bucket, BigInt(from), BigInt(to)])) {
      const [hash, parentHash] = [toHex(row['hash'] as Buffer), toHex(row['parent'] as Buffer)];
      links.push({ number: Number(row['number'] as bigint), hash, parentHash });
    }
  }
  return links;
}

/** Deletes what tells of a block. */
export function unlinkStatement(copy: bigint, { number, hash }: BlockRef, time: bigint): Statement {
  const query =
    'DELETE FROM links USING TIMESTAMP ? WHERE copy = ? AND bucket = ? AND number = ? AND hash = ?';
  return { query, values: [time, copy, linkBucket(number), BigInt(number), fromHex(hash)] };
}

/** Deletes all rows of all blocks of a number. */
export function deleteBodies(copy: bigint, number: number, time: bigint): Statement {
  const query = 'DELETE FROM bodies USING TIMESTAMP ? WHERE copy = ? AND number = ?';
  return { query, values: [time, copy, BigInt(number)] };
}

/** One part of one block; undefined if it is not there. */
export async function readPart(
  session: Session,
  copy: bigint,
  ref: BlockRef,
  kind: PartKind,
): Promise<Uint8Array | undefined> {
  const query = 'SELECT hash, bytes FROM bodies WHERE copy = ? AND number = ? AND kind = ?';
  const rows = await session.rows(query, [copy, BigInt(ref.number), KINDS[kind]]);
  const own = rows
    .filter((row) => toHex(row['hash'] as Buffer) === ref.hash)
    .map((row) => row['bytes'] as Buffer);
  return own.length > 1 ? Buffer.concat(own) : own[0];
}

/** Which blocks of a number have rows, by hash. */
export async function readHashes(session: Session, copy: bigint, number: number): Promise<Hex[]> {
  const query = 'SELECT hash FROM bodies WHERE copy = ? AND number = ? AND kind = ? AND part = 0';
  const rows = await session.rows(query, [copy, BigInt(number), KINDS.receipts]);
  return rows.map((row) => toHex(row['hash'] as Buffer));
}

/** All logs of a block; undefined if it is not there. */
export async function readBlockLogs(
  session: Session,
  copy: bigint,
  ref: BlockRef,
): Promise<ChunkedLogs | undefined> {
  const found = await readLogChunks(session, copy, ref.number, undefined);
  return found.find(({ hash }) => hash === ref.hash);
}

/** The chunks of a block's logs that hold these, of each block of that number; all of them without `indexes`. */
export async function readLogChunks(
  session: RowReader,
  copy: bigint,
  number: number,
  indexes: readonly number[] | undefined,
): Promise<ChunkedLogs[]> {
  if (indexes === undefined) {
    const query = 'SELECT part, hash, bytes FROM bodies WHERE copy = ? AND number = ? AND kind = ?';
    return chunkedLogs(number, await session.rows(query, [copy, BigInt(number), KINDS.logs]));
  }
  const parts = [...new Set(indexes.map((index) => Math.floor(index / logsPerChunk)))];
  const query =
    'SELECT part, hash, bytes FROM bodies WHERE copy = ? AND number = ? AND kind = ? AND part = ?';
  const rows = await Promise.all(
    parts.map((part) => session.rows(query, [copy, BigInt(number), KINDS.logs, part])),
  );
  return chunkedLogs(number, rows.flat());
}

function chunkedLogs(number: number, rows: readonly { readonly [column: string]: unknown }[]): ChunkedLogs[] {
  const byHash = new Map<Hex, Map<number, LogChunk>>();
  for (const row of rows) {
    const hash = toHex(row['hash'] as Buffer);
    const chunks = byHash.get(hash) ?? new Map<number, LogChunk>();
    byHash.set(hash, chunks.set(row['part'] as number, new LogChunk(row['bytes'] as Buffer)));
  }
  return [...byHash].map(([hash, chunks]) => new ChunkedLogs({ number, hash }, chunks));
}

/** Logs of a block as far as their chunks were read. */
export class ChunkedLogs implements BlockLogs {
  readonly number: number;
  readonly hash: Hex;
  readonly timestamp: number;
  readonly timestampMs: number | undefined;
  readonly length: number;
  readonly #chunks: ReadonlyMap<number, LogChunk>;

  constructor({ number, hash }: BlockRef, chunks: ReadonlyMap<number, LogChunk>) {
    const [any] = chunks.values();
    if (any === undefined) throw new StoreError('corrupt', `block ${number} has no logs row`);
    this.number = number;
    this.hash = hash;
    this.timestamp = any.timestamp;
    this.timestampMs = any.timestampMs;
    this.length = any.logCount;
    this.#chunks = chunks;
  }

  log(index: number): Log {
    const chunk = this.#chunks.get(Math.floor(index / logsPerChunk));
    if (chunk === undefined) throw new RangeError(`log ${index} of block ${this.number} was not read`);
    return chunk.log(index % logsPerChunk);
  }

  transactionHash(transactionIndex: number): Uint8Array {
    for (const chunk of this.#chunks.values()) {
      const hash = chunk.transactionHash(transactionIndex);
      if (hash !== undefined) return hash;
    }
    throw new RangeError(
      `transaction ${transactionIndex} of block ${this.number} has no logs that were read`,
    );
  }
}

/** A whole block as it was appended. */
export async function readOutcome(session: Session, copy: bigint, link: Link): Promise<Outcome> {
  const part = async (kind: PartKind): Promise<Uint8Array> => {
    const bytes = await readPart(session, copy, link, kind);
    if (bytes === undefined)
      throw new StoreError('corrupt', `block ${link.number} ${link.hash} has no ${kind} row`);
    return bytes;
  };
  const [header, block, receipts, diffBytes, logs] = await Promise.all([
    ...([part('header'), part('block'), part('receipts'), part('diff')] as const),
    readBlockLogs(session, copy, link),
  ]);
  if (logs === undefined)
    throw new StoreError('corrupt', `block ${link.number} ${link.hash} has no logs row`);
  const { timestamp, timestampMs } = logs;
  return {
    ...link,
    ...{ timestamp, timestampMs, header, block, diffBytes },
    receipts: decodeReceipts(receipts),
    logs: Array.from({ length: logs.length }, (_, index) => logs.log(index)),
    diff: decodeDiff(diffBytes),
  };
}

function pieces(bytes: Uint8Array): Uint8Array[] {
  const count = Math.max(1, Math.ceil(bytes.length / PIECE_BYTES));
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * PIECE_BYTES, (at + 1) * PIECE_BYTES));
}
