import { StoreError } from '../../error.ts';
import type { Marks } from '../../interface.ts';
import { raisedMarks } from '../../marks.ts';
import { bucketBlocks } from '../../postings.ts';
import { numberKey, samePrefix, trailingNumber, versionNumber } from '../keys.ts';
import { deleteClosed, deleteRecent, mayBeRecent } from '../logs/write-postings.ts';
import {
  readMarks,
  readSweep,
  readUndoFloor,
  type SweepProgress,
  writeMarks,
  writeParent,
  writeSweep,
} from '../meta.ts';
import { WipeLookup } from '../read/state.ts';
import type { Tables } from '../tables.ts';
import { deleteBlock, hashAt, type WriteContext } from './block-rows.ts';

/** How far the BLOCKHASH opcode looks back. */
const blockHashReach = 256;
const rowsPerPage = 1024;
const blocksPerPage = 64;
/** What looking at a row costs against deleting one. */
const seenCost = 1 / 16;

/**
 * Raises the lowest block and the anchor to `below`, then deletes about `limit` rows that nobody can read any more;
 * returns whether some are left. Each call is one transaction, so a crash leaves rows to delete and nothing else.
 */
export function pruneHistory(context: WriteContext, below: number, limit: number): boolean {
  const { tables } = context;
  const before = readMarks(tables);
  const floor = before && readUndoFloor(tables, before);
  if (before === undefined || floor === undefined || below > floor) {
    throw new StoreError(
      'outOfRange',
      `cannot prune up to block ${below}: blocks above ${floor} can be reverted`,
    );
  }
  const { lowest, anchor } = raiseStart(tables, before, below);
  const left = deleteBlocks(context, lowest.number, limit);
  return left <= 0 || sweepState(tables, anchor.number, left);
}

function raiseStart(tables: Tables, before: Marks, below: number): Marks {
  if (below <= before.lowest.number) return before;
  const start = { number: below, hash: hashAt(tables, below) };
  // Calls at the anchor ask for these; the blocks themselves go.
  const reach = Math.max(0, below - blockHashReach);
  for (const key of [...tables.hashes.getKeys({ start: numberKey(0), end: numberKey(reach) })])
    tables.hashes.removeSync(key);
  const kept = { start: numberKey(Math.max(reach, before.lowest.number)), end: numberKey(below) };
  for (const { key, value } of [...tables.canonical.getRange(kept)]) tables.hashes.putSync(key, value);
  const marks = raisedMarks(before, start);
  writeParent(tables, hashAt(tables, below - 1));
  writeMarks(tables, marks);
  return marks;
}

/**
 * Deletes blocks from the first on. The bucket of the lowest block stays, since its posting rows also name blocks
 * that are held. Returns what is left of the budget.
 */
function deleteBlocks(context: WriteContext, lowest: number, budget: number): number {
  const { tables, prefix } = context;
  const end = numberKey(Math.floor(lowest / bucketBlocks) * bucketBlocks);
  let left = budget;
  while (left > 0) {
    const page = [...tables.canonical.getKeys({ start: numberKey(0), end, limit: blocksPerPage })];
    if (page.length === 0) break;
    for (const key of page) {
      if (left <= 0) break;
      const number = trailingNumber(key);
      const { logs, rows } = deleteBlock(tables, number);
      left -= rows + deleteClosed(tables, number, logs, prefix);
      if (mayBeRecent(tables, number)) left -= deleteRecent(tables, number, logs, prefix);
    }
  }
  return left;
}

/**
 * Deletes versions that are not the newest at or below the anchor, going through the state from end to end; returns
 * whether some may be left. When the anchor has moved since a cycle began, another one follows.
 */
function sweepState(tables: Tables, anchor: number, budget: number): boolean {
  let progress = readSweep(tables);
  for (let left = budget; ; ) {
    if (progress.stage === 'done') {
      if (progress.target >= anchor) break;
      progress = { target: anchor, stage: 'accounts' };
    }
    if (left <= 0) break;
    const page = sweepPage(tables, anchor, progress);
    progress = page.progress;
    left -= page.cost;
  }
  writeSweep(tables, progress);
  return progress.stage !== 'done';
}

const subjectBytes = { accounts: 20, slots: 52, wipes: 20 } as const;
const nextStage = { accounts: 'slots', slots: 'wipes', wipes: 'done' } as const;

function sweepPage(
  tables: Tables,
  anchor: number,
  progress: SweepProgress,
): { readonly progress: SweepProgress; readonly cost: number } {
  const { stage, target, last } = progress;
  if (stage === 'done') return { progress, cost: 0 };
  const size = subjectBytes[stage];
  const wipes = new WipeLookup(tables, anchor);
  let previous = last !== undefined && last.length > 0 ? last : undefined;
  let kept = progress.kept ?? false;
  const start = previous === undefined ? new Uint8Array(1) : Buffer.concat([previous, new Uint8Array(1)]);
  const page = [...tables[stage].getKeys({ start, limit: rowsPerPage })];
  let deleted = 0;
  for (const key of page) {
    if (previous === undefined || !samePrefix(previous, key, size)) kept = false;
    previous = key;
    const number = versionNumber(key);
    if (number > anchor) continue;
    // The newest wipe stays: it tells that all slots are empty which were not written since.
    const wiped = stage === 'slots' ? (wipes.last(key) ?? 0) : 0;
    if (kept || number < wiped) {
      tables[stage].removeSync(key);
      deleted++;
    } else kept = true;
  }
  const cost = deleted + 1 + page.length * seenCost;
  if (page.length < rowsPerPage) return { progress: { target, stage: nextStage[stage] }, cost };
  return { progress: { target, stage, kept, ...(previous && { last: previous }) }, cost };
}
