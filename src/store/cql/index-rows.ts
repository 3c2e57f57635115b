import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import type { TransactionPlace } from '../interface.ts';
import type { Session, Statement } from './session.ts';

const CANONICAL_A_BUCKET = 4_096;
/** The number under which code is that no block brought. */
const PINNED = -1n;

const canonicalBucket = (number: number): bigint => BigInt(Math.floor(number / CANONICAL_A_BUCKET));

/** Has a block found by its number, its hash and its transactions' hashes. */
export function nameStatements(
  copy: bigint,
  { number, hash, receipts }: Pick<Outcome, 'number' | 'hash' | 'receipts'>,
  time: bigint,
): Statement[] {
  const insertPlace =
    'INSERT INTO transactions (copy, hash, number, place) VALUES (?, ?, ?, ?) USING TIMESTAMP ?';
  return [
    hashStatement(copy, number, fromHex(hash), time),
    {
      query: 'INSERT INTO numbers (copy, hash, number) VALUES (?, ?, ?) USING TIMESTAMP ?',
      values: [copy, fromHex(hash), BigInt(number), time],
    },
    ...receipts.map(({ transactionHash }, index) => ({
      query: insertPlace,
      values: [copy, transactionHash, BigInt(number), index, time],
    })),
  ];
}

/** Forgets the hash of a block and those of its transactions. */
export function unnameStatements(
  copy: bigint,
  { number, hash, receipts }: Pick<Outcome, 'number' | 'hash' | 'receipts'>,
  time: bigint,
): Statement[] {
  const deletePlace = 'DELETE FROM transactions USING TIMESTAMP ? WHERE copy = ? AND hash = ? AND number = ?';
  return [
    {
      query: 'DELETE FROM numbers USING TIMESTAMP ? WHERE copy = ? AND hash = ?',
      values: [time, copy, fromHex(hash)],
    },
    ...receipts.map(({ transactionHash }) => ({
      query: deletePlace,
      values: [time, copy, transactionHash, BigInt(number)],
    })),
  ];
}

/** Says which block a number is. */
export function hashStatement(copy: bigint, number: number, hash: Uint8Array, time: bigint): Statement {
  const query = 'INSERT INTO canonical (copy, bucket, number, hash) VALUES (?, ?, ?, ?) USING TIMESTAMP ?';
  return { query, values: [copy, canonicalBucket(number), BigInt(number), hash, time] };
}

/** Forgets which blocks the numbers below were; `from` is the first that may be known. */
export function deleteHashes(copy: bigint, from: number, below: number, time: bigint): Statement[] {
  const query = 'DELETE FROM canonical USING TIMESTAMP ? WHERE copy = ? AND bucket = ? AND number < ?';
  const statements: Statement[] = [];
  for (
    let bucket = canonicalBucket(Math.max(0, from));
    bucket <= canonicalBucket(Math.max(0, below - 1));
    bucket++
  )
    statements.push({ query, values: [time, copy, bucket, BigInt(below)] });
  return statements;
}

/** Which block an indexed number is, or one that was held or pinned. */
export async function readHash(session: Session, copy: bigint, number: number): Promise<Hex | undefined> {
  const query = 'SELECT hash FROM canonical WHERE copy = ? AND bucket = ? AND number = ?';
  const [row] = await session.rows(query, [copy, canonicalBucket(number), BigInt(number)]);
  return row === undefined ? undefined : toHex(row['hash'] as Buffer);
}

/** The number of an indexed block. */
export async function readNumber(session: Session, copy: bigint, hash: Hex): Promise<number | undefined> {
  const [row] = await session.rows('SELECT number FROM numbers WHERE copy = ? AND hash = ?', [
    copy,
    fromHex(hash),
  ]);
  return row === undefined ? undefined : Number(row['number'] as bigint);
}

/** Where transactions with this hash were: canonical or not. */
export async function readPlaces(
  session: Session,
  copy: bigint,
  hash: Hex,
): Promise<Omit<TransactionPlace, 'hash'>[]> {
  const query = 'SELECT number, place FROM transactions WHERE copy = ? AND hash = ?';
  const rows = await session.rows(query, [copy, fromHex(hash)]);
  return rows.map((row) => ({ number: Number(row['number'] as bigint), index: row['place'] as number }));
}

/** Keeps code that a block brought, or that was read elsewhere. */
export function codeStatement(
  copy: bigint,
  hash: Uint8Array,
  code: Uint8Array,
  block: BlockRef | undefined,
  time: bigint,
): Statement {
  const query = 'INSERT INTO code (copy, hash, number, bytes) VALUES (?, ?, ?, ?) USING TIMESTAMP ?';
  return { query, values: [copy, hash, block === undefined ? PINNED : BigInt(block.number), code, time] };
}

/** Forgets code that a block brought which is not canonical any more; others may have brought it, too. */
export function uncodeStatement(copy: bigint, hash: Uint8Array, block: BlockRef, time: bigint): Statement {
  const query = 'DELETE FROM code USING TIMESTAMP ? WHERE copy = ? AND hash = ? AND number = ?';
  return { query, values: [time, copy, hash, BigInt(block.number)] };
}

/** Whether code was kept that no block brought. */
export async function hasPinnedCode(session: Session, copy: bigint, hash: Uint8Array): Promise<boolean> {
  const query = 'SELECT number FROM code WHERE copy = ? AND hash = ? AND number = ?';
  return (await session.rows(query, [copy, hash, PINNED])).length > 0;
}

/** Code by its hash, that was pinned or is of a block up to `indexed`: rows of blocks above may be of some that were taken off. */
export async function readCode(
  session: Session,
  copy: bigint,
  { hash }: Extract<StateKey, { kind: 'code' }>,
  indexed: number,
): Promise<Uint8Array | undefined> {
  const query = 'SELECT bytes FROM code WHERE copy = ? AND hash = ? AND number <= ? LIMIT 1';
  const [row] = await session.rows(query, [copy, hash, BigInt(indexed)]);
  return row?.['bytes'] as Buffer | undefined;
}

/** All code that was pinned, or that a block brought up to `indexed`, each once. */
export async function* scanCodes(
  session: Session,
  copy: bigint,
  indexed: number,
): AsyncGenerator<readonly [hash: Uint8Array, code: Uint8Array], void, undefined> {
  let last: Buffer | undefined;
  const query = 'SELECT hash, number, bytes FROM code WHERE copy = ? ALLOW FILTERING';
  for await (const page of session.pages(query, [copy])) {
    for (const row of page) {
      const hash = row['hash'] as Buffer;
      // Rows of one hash come one after another.
      if (last?.equals(hash) === true || (row['number'] as bigint) > BigInt(indexed)) continue;
      last = hash;
      yield [hash, row['bytes'] as Buffer];
    }
  }
}
