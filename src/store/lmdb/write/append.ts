import type { BlockRef, Outcome } from '../../../chain/outcome.ts';
import { StoreError } from '../../error.ts';
import type { AppendOptions, Marks } from '../../interface.ts';
import { checkLinks, movedMarks, revertedMarks } from '../../marks.ts';
import { bucketBlocks } from '../../postings.ts';
import { numberKey, slotSubject, versionKey } from '../keys.ts';
import { BucketWriter, deleteRecent, mergeRecent, writeRecent } from '../logs/write-postings.ts';
import {
  clearChainMeta,
  readIndexedFrom,
  readMarks,
  writeIndexedFrom,
  writeMarks,
  writeParent,
  writeStart,
} from '../meta.ts';
import { clearTables, putLast, type Tables } from '../tables.ts';
import { deleteBlock, hashAt, type WriteContext, writeBlock } from './block-rows.ts';
import { writePins } from './pins.ts';
import { decodeUndo, encodeUndo } from './undo-codec.ts';

const nothing = new Uint8Array(0);
/** Rows merged per row added: above 1, so that a merge cycle ends before the next bucket is due. */
const mergeRatio = 4;
const mergeMinimum = 1024;

/** Appends linked blocks, after taking off those above `onto`, or all. */
export function appendBlocks(
  context: WriteContext,
  outcomes: readonly Outcome[],
  options: AppendOptions,
): void {
  const { tables } = context;
  if (options.reanchor === true) forgetChain(tables);
  if (options.onto !== undefined) revertBlocks(context, options.onto);
  const before = readMarks(tables);
  checkLinks(before?.head, outcomes);
  const after = writeOutcomes(context, outcomes, before, options);
  if (options.pins === undefined) return;
  if (after === undefined) throw new StoreError('conflict', 'an empty store has no anchor to pin values of');
  writePins(tables, after, options.pins);
}

/** Forgets every block and all that belongs to them. */
function forgetChain(tables: Tables): void {
  const before = readMarks(tables);
  if (before !== undefined && before.lowest.number < before.anchor.number) {
    throw new StoreError('conflict', `history from block ${before.lowest.number} on would be lost`);
  }
  clearTables(tables);
  clearChainMeta(tables);
}

function writeOutcomes(
  context: WriteContext,
  outcomes: readonly Outcome[],
  before: Marks | undefined,
  { partial = false, undo = context.undoWindow, byDiffs }: AppendOptions,
): Marks | undefined {
  const { tables } = context;
  const first = outcomes[0];
  const last = outcomes.at(-1);
  if (first === undefined || last === undefined) return before;
  // From before there was an index of transactions: it begins here, and is brought down to the lowest block later.
  if (readIndexedFrom(tables) === undefined) writeIndexedFrom(tables, first.number);
  if (before === undefined) {
    writeStart(tables, first.number, partial);
    writeParent(tables, first.parentHash);
  }

  // Blocks above `settled` may be reverted; whole buckets below `bound` never.
  const settled = last.number - undo;
  const bound = Math.max(0, Math.floor((settled + 1) / bucketBlocks) * bucketBlocks);
  const bulkFrom = before === undefined ? 0 : Math.ceil(first.number / bucketBlocks) * bucketBlocks;
  const buckets = new BucketWriter(tables, context.prefix);
  let recentRows = 0;
  for (const outcome of outcomes) {
    writeBlock(tables, outcome, putLast);
    const newCodes = writeState(tables, outcome);
    if (outcome.number > settled) {
      tables.undo.putSync(numberKey(outcome.number), encodeUndo(outcome.diff, newCodes));
      tables.diffs.putSync(numberKey(outcome.number), outcome.diffBytes);
    }
    if (outcome.number >= bulkFrom && outcome.number < bound) buckets.add(outcome.number, outcome.logs);
    else recentRows += writeRecent(tables, outcome.number, outcome.logs, context.prefix);
  }
  buckets.flush();
  // Rows written straight into `postings` must stay newer than all that `recent` held before them.
  const bulk = bulkFrom < bound && first.number < bound;
  mergeRecent(tables, bound, bulk ? Number.POSITIVE_INFINITY : recentRows * mergeRatio + mergeMinimum);
  pruneUndo(tables, settled);

  const start = refOf(first);
  const marks = {
    lowest: start,
    anchor: start,
    safe: undefined,
    finalized: undefined,
    byDiffs,
    ...before,
    head: refOf(last),
  };
  writeMarks(tables, marks);
  return marks;
}

/** Takes off every block above `number`. */
export function revertBlocks(context: WriteContext, number: number): void {
  const { tables } = context;
  const before = readMarks(tables);
  if (before === undefined || number > before.head.number) {
    throw new StoreError('outOfRange', `cannot revert to block ${number}: it is above the head`);
  }
  if (number < before.anchor.number) {
    throw new StoreError(
      'outOfRange',
      `cannot revert to block ${number}: the first block with state is ${before.anchor.number}`,
    );
  }
  if (number < (before.finalized?.number ?? number)) {
    throw new StoreError(
      'outOfRange',
      `cannot revert to block ${number}: block ${before.finalized?.number} is final`,
    );
  }
  for (let at = before.head.number; at > number; at--) revertBlock(context, at);
  if ((readIndexedFrom(tables) ?? 0) > number + 1) writeIndexedFrom(tables, number + 1);
  const head = { number, hash: hashAt(tables, number) };
  writeMarks(tables, revertedMarks(before, head));
}

/** Moves safe and finalized up to canonical blocks. */
export function moveMarks(tables: Tables, moved: Partial<Pick<Marks, 'safe' | 'finalized'>>): void {
  const before = readMarks(tables);
  if (before === undefined) throw new StoreError('conflict', 'cannot mark a block of an empty store');
  for (const name of ['safe', 'finalized'] as const) {
    const ref = moved[name];
    if (ref === undefined) continue;
    const held = ref.number >= before.lowest.number && ref.number <= before.head.number;
    if (!held || hashAt(tables, ref.number) !== ref.hash) {
      throw new StoreError('conflict', `cannot mark block ${ref.number} ${ref.hash}: it is not canonical`);
    }
  }
  writeMarks(tables, movedMarks(before, moved));
}

function writeState(tables: Tables, { number, diff }: Outcome): Uint8Array[] {
  for (const address of diff.wiped) tables.wipes.putSync(versionKey(address, number), nothing);
  for (const [address, account] of diff.accounts)
    tables.accounts.putSync(versionKey(address, number), account);
  for (const [address, slot, value] of diff.slots) {
    tables.slots.putSync(versionKey(slotSubject(address, slot), number), value);
  }
  const newCodes: Uint8Array[] = [];
  for (const [hash, code] of diff.codes) {
    if (tables.code.doesExist(hash)) continue;
    tables.code.putSync(hash, code);
    newCodes.push(hash);
  }
  return newCodes;
}

function revertBlock(context: WriteContext, number: number): void {
  const { tables } = context;
  const key = numberKey(number);
  const undoBytes = tables.undo.getBinary(key);
  if (undoBytes === undefined) {
    throw new StoreError('outOfRange', `cannot revert block ${number}: it is deeper than the undo window`);
  }
  const undo = decodeUndo(undoBytes);
  for (const address of undo.wiped) tables.wipes.removeSync(versionKey(address, number));
  for (const address of undo.accounts) tables.accounts.removeSync(versionKey(address, number));
  for (const subject of undo.slots) tables.slots.removeSync(versionKey(subject, number));
  for (const hash of undo.codes) if (!tables.codePins.doesExist(hash)) tables.code.removeSync(hash);
  deleteRecent(tables, number, deleteBlock(tables, number).logs, context.prefix);
  tables.undo.removeSync(key);
  tables.diffs.removeSync(key);
}

function pruneUndo(tables: Tables, settled: number): void {
  if (settled < 0) return;
  const end = numberKey(settled + 1);
  const old = [...tables.undo.getKeys({ start: numberKey(0), end })];
  for (const key of old) {
    tables.undo.removeSync(key);
    tables.diffs.removeSync(key);
  }
}

function refOf({ number, hash }: Outcome): BlockRef {
  return { number, hash };
}
