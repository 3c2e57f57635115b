import { randomBytes } from 'node:crypto';
import { ByteReader, ByteWriter } from '../../chain/byte-codec.ts';
import type { BlockRef } from '../../chain/outcome.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import { StoreError } from '../error.ts';
import { otherForm } from '../form.ts';
import type { Marks } from '../interface.ts';
import { trailingNumber } from './keys.ts';
import type { Tables } from './tables.ts';

// Names of the store itself and texts of the user live under different first bytes.
const ownKey = (name: string): Buffer => Buffer.from(`\u0001${name}`);
const userKey = (name: string): Buffer => Buffer.from(`\u0002${name}`);

const marksKey = ownKey('marks');
const seedKey = ownKey('seed');
const mergeKey = ownKey('merge');
const sweepKey = ownKey('sweep');
const partialKey = ownKey('partial');
const parentKey = ownKey('parent');
const schemaKey = ownKey('schema');
const indexedKey = ownKey('transactions');

/** The form of all rows. Stores of another form are refused, never misread: raise it with any change of a codec. */
const schema = 3;
/** The form before there was an index of transactions, which is made while the store is used. */
const unindexed = 2;

/** The marks, or undefined for an empty store. */
export function readMarks(tables: Tables): Marks | undefined {
  const bytes = tables.meta.getBinary(marksKey);
  return bytes === undefined ? undefined : decodeMarks(bytes);
}

export function writeMarks(tables: Tables, marks: Marks): void {
  tables.meta.putSync(marksKey, encodeMarks(marks));
}

/** The number of the first block held: rows below it are waiting to be deleted. */
export function readLowest(tables: Tables): number {
  const bytes = tables.meta.getBinary(marksKey);
  // It comes first in the marks.
  return bytes === undefined ? Number.POSITIVE_INFINITY : new ByteReader(bytes).varint();
}

/** Encodes marks for the meta table. */
export function encodeMarks(marks: Marks): Buffer {
  const out = new ByteWriter(200);
  const write = (ref: BlockRef): void => {
    out.varint(ref.number);
    out.raw(fromHex(ref.hash));
  };
  for (const ref of [marks.lowest, marks.anchor, marks.head]) write(ref);
  for (const ref of [marks.safe, marks.finalized]) {
    out.varint(ref === undefined ? 0 : 1);
    if (ref !== undefined) write(ref);
  }
  // Written where it is only, so that stores from before it are read as they are.
  if (marks.byDiffs !== undefined) write(marks.byDiffs);
  return out.finish();
}

/** Decodes what `encodeMarks` wrote. */
export function decodeMarks(bytes: Uint8Array): Marks {
  const input = new ByteReader(bytes);
  const ref = (): BlockRef => ({ number: input.varint(), hash: toHex(input.raw(32)) });
  const optional = (): BlockRef | undefined => (input.varint() === 1 ? ref() : undefined);
  const marks = { lowest: ref(), anchor: ref(), head: ref(), safe: optional(), finalized: optional() };
  const byDiffs = input.remaining > 0 ? ref() : undefined;
  input.end();
  return byDiffs === undefined ? marks : { ...marks, byDiffs };
}

/** Whether the first block came without the whole state, so that a key without a version is unknown. */
export function readPartial(tables: Tables): boolean {
  return tables.meta.doesExist(partialKey);
}

/** Records how a store begins: with the anchor `first`. */
export function writeStart(tables: Tables, first: number, partial: boolean): void {
  if (partial) tables.meta.putSync(partialKey, new Uint8Array(1));
  writeSweep(tables, { target: first, stage: 'done' });
  writeIndexedFrom(tables, first);
}

/** The lowest block whose transactions are found by hash; undefined in a store from before there was such an index. */
export function readIndexedFrom(tables: Tables): number | undefined {
  const bytes = tables.meta.getBinary(indexedKey);
  return bytes === undefined ? undefined : new ByteReader(bytes).varint();
}

/** Moves it; a program that does not keep the index must not write to this store from now on. */
export function writeIndexedFrom(tables: Tables, number: number): void {
  const out = new ByteWriter(8);
  out.varint(number);
  tables.meta.putSync(indexedKey, out.finish());
  writeSchema(tables);
}

/** The hash of the parent of the lowest block: what the next block below must have. */
export function readParent(tables: Tables): Hex | undefined {
  const hash = tables.meta.getBinary(parentKey);
  return hash === undefined ? undefined : toHex(hash);
}

export function writeParent(tables: Tables, hash: Hex): void {
  tables.meta.putSync(parentKey, fromHex(hash));
}

/** Forgets all that belongs to the chain; the seed, the schema and texts stay. */
export function clearChainMeta(tables: Tables): void {
  for (const key of [marksKey, parentKey, mergeKey, sweepKey, partialKey, indexedKey])
    tables.meta.removeSync(key);
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

const sweepStages = ['accounts', 'slots', 'wipes', 'done'] as const;

/** How far versions that nobody can read any more have been deleted. */
export interface SweepProgress {
  /** Nothing superseded as of this block is left once the cycle is done. */
  readonly target: number;
  /** The table that the cycle has come to. */
  readonly stage: (typeof sweepStages)[number];
  /** The last key that was looked at; empty at the start of a table. */
  readonly last?: Uint8Array;
  /** Whether the version that the anchor needs of that key's subject was seen already. */
  readonly kept?: boolean;
}

export function readSweep(tables: Tables): SweepProgress {
  const bytes = tables.meta.getBinary(sweepKey);
  if (bytes === undefined) throw new StoreError('corrupt', 'no record of what was pruned');
  const input = new ByteReader(bytes);
  const target = input.varint();
  const stage = sweepStages[input.varint()] ?? 'done';
  const kept = input.varint() === 1;
  return { target, stage, kept, last: input.raw(input.remaining) };
}

export function writeSweep(tables: Tables, progress: SweepProgress): void {
  const out = new ByteWriter(80);
  out.varint(progress.target);
  out.varint(sweepStages.indexOf(progress.stage));
  out.varint(progress.kept === true ? 1 : 0);
  out.raw(progress.last ?? new Uint8Array(0));
  tables.meta.putSync(sweepKey, out.finish());
}

/** Refuses a store whose rows have another form. */
export function checkSchema(tables: Tables): void {
  if (!tables.meta.doesExist(seedKey)) return;
  const stored = tables.meta.getBinary(schemaKey)?.[0] ?? 1;
  if (stored === schema || stored === unindexed) return;
  throw new StoreError('schema', otherForm('the store', stored, schema));
}

/** Makes an empty environment a store, with this hash seed. */
export function writeIdentity(tables: Tables, seed: Uint8Array): void {
  tables.meta.putSync(seedKey, seed);
  writeSchema(tables);
}

function writeSchema(tables: Tables): void {
  tables.meta.putSync(schemaKey, Uint8Array.of(schema));
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
    writeIdentity(tables, seed);
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

/** The lowest block that the chain can be taken back to: the one below the first that has its undo row. */
export function readUndoFloor(tables: Tables, { anchor, head }: Marks): number {
  const [first] = [...tables.undo.getKeys({ limit: 1 })];
  return Math.max(anchor.number, first === undefined ? head.number : trailingNumber(first) - 1);
}
