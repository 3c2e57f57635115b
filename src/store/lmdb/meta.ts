import { randomBytes } from 'node:crypto';
import { ByteReader, ByteWriter } from '../../chain/byte-codec.ts';
import type { BlockRef } from '../../chain/outcome.ts';
import { fromHex, toHex } from '../../primitives/hex.ts';
import { StoreError } from '../error.ts';
import type { Marks } from '../interface.ts';
import type { Tables } from './tables.ts';

// Names of the store itself and texts of the user live under different first bytes.
const ownKey = (name: string): Buffer => Buffer.from(`\u0001${name}`);
const userKey = (name: string): Buffer => Buffer.from(`\u0002${name}`);

const marksKey = ownKey('marks');
const seedKey = ownKey('seed');
const mergeKey = ownKey('merge');

/** The marks, or undefined for an empty store. */
export function readMarks(tables: Tables): Marks | undefined {
  const bytes = tables.meta.getBinary(marksKey);
  return bytes === undefined ? undefined : decodeMarks(bytes);
}

export function writeMarks(tables: Tables, marks: Marks): void {
  tables.meta.putSync(marksKey, encodeMarks(marks));
}

/** Encodes marks for the meta table. */
export function encodeMarks(marks: Marks): Buffer {
  const out = new ByteWriter(160);
  for (const ref of [marks.anchor, marks.head, marks.safe, marks.finalized]) {
    out.varint(ref.number);
    out.raw(fromHex(ref.hash));
  }
  return out.finish();
}

/** Decodes what `encodeMarks` wrote. */
export function decodeMarks(bytes: Uint8Array): Marks {
  const input = new ByteReader(bytes);
  const ref = (): BlockRef => ({ number: input.varint(), hash: toHex(input.raw(32)) });
  const marks = { anchor: ref(), head: ref(), safe: ref(), finalized: ref() };
  input.end();
  return marks;
}

/** How far the merge of recent rows into postings has come: rows below `bound`, up to the key `next`. */
export interface MergeProgress {
  readonly bound: number;
  /** Where the cycle goes on; empty when it is complete. */
  readonly next: Uint8Array;
}

export function readMerge(tables: Tables): MergeProgress {
  const bytes = tables.meta.getBinary(mergeKey);
  if (bytes === undefined) return { bound: 0, next: new Uint8Array(0) };
  const input = new ByteReader(bytes);
  return { bound: input.varint(), next: input.raw(input.remaining) };
}

export function writeMerge(tables: Tables, progress: MergeProgress): void {
  const out = new ByteWriter(32);
  out.varint(progress.bound);
  out.raw(progress.next);
  tables.meta.putSync(mergeKey, out.finish());
}

/** The store's hash seed; drawn when the store is created. */
export function readOrCreateSeed(tables: Tables, readOnly: boolean): bigint {
  const stored = tables.meta.getBinary(seedKey);
  if (stored !== undefined) return Buffer.from(stored).readBigUInt64BE();
  if (readOnly) throw new StoreError('outOfRange', 'there is no store to read at this path');
  return tables.root.transactionSync(() => {
    // Another thread may have drawn it since.
    const raced = tables.meta.getBinary(seedKey);
    if (raced !== undefined) return Buffer.from(raced).readBigUInt64BE();
    const seed = randomBytes(8);
    tables.meta.putSync(seedKey, seed);
    return seed.readBigUInt64BE();
  });
}

export function readText(tables: Tables, name: string): string | undefined {
  const bytes = tables.meta.getBinary(userKey(name));
  return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
}

export function writeText(tables: Tables, name: string, value: string): void {
  tables.meta.putSync(userKey(name), Buffer.from(value));
}
