import { encodeLogChunks, logsPerChunk } from '../../chain/log-codec.ts';
import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import { encodeReceipts } from '../../chain/receipt-codec.ts';
import { fromHex, toHex } from '../../primitives/hex.ts';
import { StoreError } from '../error.ts';
import type { Marks } from '../interface.ts';
import { blockKey, logChunkKey, numberKey, slotSubject, versionKey } from './keys.ts';
import { readMarks, writeMarks } from './meta.ts';
import { bucketBlocks, maxLogsPerBlock } from './posting-codec.ts';
import { readLogs } from './read-logs.ts';
import { putLast, type Tables } from './tables.ts';
import { decodeUndo, encodeUndo } from './undo-codec.ts';
import type { PostingPrefix } from './value-hash.ts';
import { BucketWriter, deleteRecent, mergeRecent, writeRecent } from './write-postings.ts';

const nothing = new Uint8Array(0);
/** Rows merged per row added: above 1, so that a merge cycle ends before the next bucket is due. */
const mergeRatio = 4;
const mergeMinimum = 1024;

export interface WriteContext {
  readonly tables: Tables;
  readonly prefix: PostingPrefix;
  readonly undoWindow: number;
}

/** Appends linked blocks; runs inside the one write transaction that makes them visible. */
export function appendBlocks(context: WriteContext, outcomes: readonly Outcome[]): void {
  const { tables } = context;
  const before = readMarks(tables);
  const first = outcomes[0];
  const last = outcomes.at(-1);
  if (first === undefined || last === undefined) return;
  checkLinks(before?.head, outcomes);

  // Blocks above `settled` may be reverted; whole buckets below `bound` never.
  const settled = last.number - context.undoWindow;
  const bound = Math.max(0, Math.floor((settled + 1) / bucketBlocks) * bucketBlocks);
  const bulkFrom = before === undefined ? 0 : Math.ceil(first.number / bucketBlocks) * bucketBlocks;
  const buckets = new BucketWriter(tables, context.prefix);
  let recentRows = 0;
  for (const outcome of outcomes) {
    writeBlock(tables, outcome);
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

  const head = refOf(last);
  const anchor = before?.anchor ?? refOf(first);
  writeMarks(tables, {
    anchor,
    head,
    safe: before?.safe ?? anchor,
    finalized: before?.finalized ?? anchor,
  });
}

/** Takes off every block above `number`; runs inside one write transaction. */
export function revertBlocks(context: WriteContext, number: number): void {
  const { tables } = context;
  const before = readMarks(tables);
  if (before === undefined || number > before.head.number) {
    throw new StoreError('outOfRange', `cannot revert to block ${number}: it is above the head`);
  }
  if (number < before.anchor.number) {
    throw new StoreError(
      'outOfRange',
      `cannot revert to block ${number}: the first block is ${before.anchor.number}`,
    );
  }
  for (let at = before.head.number; at > number; at--) revertBlock(context, at);
  const hash = tables.canonical.getBinary(numberKey(number));
  if (hash === undefined) throw new StoreError('corrupt', `no canonical hash of block ${number}`);
  const head = { number, hash: toHex(hash) };
  const atMost = (mark: BlockRef): BlockRef => (mark.number > number ? head : mark);
  writeMarks(tables, {
    anchor: before.anchor,
    head,
    safe: atMost(before.safe),
    finalized: atMost(before.finalized),
  });
}

/** Moves safe and finalized to canonical blocks. */
export function moveMarks(tables: Tables, moved: Partial<Pick<Marks, 'safe' | 'finalized'>>): void {
  const before = readMarks(tables);
  if (before === undefined) throw new StoreError('conflict', 'cannot mark a block of an empty store');
  for (const ref of [moved.safe, moved.finalized]) {
    if (ref === undefined) continue;
    const hash = tables.canonical.getBinary(numberKey(ref.number));
    if (hash === undefined || toHex(hash) !== ref.hash) {
      throw new StoreError('conflict', `cannot mark block ${ref.number} ${ref.hash}: it is not canonical`);
    }
  }
  writeMarks(tables, {
    ...before,
    safe: moved.safe ?? before.safe,
    finalized: moved.finalized ?? before.finalized,
  });
}

/** Refuses blocks that do not follow each other, and the head, by number and hash. */
export function checkLinks(head: BlockRef | undefined, outcomes: readonly Outcome[]): void {
  let parent = head;
  for (const outcome of outcomes) {
    if (
      parent !== undefined &&
      (outcome.number !== parent.number + 1 || outcome.parentHash !== parent.hash)
    ) {
      throw new StoreError(
        'conflict',
        `block ${outcome.number} (parent ${outcome.parentHash}) does not follow ${parent.number} ${parent.hash}`,
      );
    }
    if (outcome.logs.length > maxLogsPerBlock) {
      throw new StoreError('outOfRange', `block ${outcome.number} has more than ${maxLogsPerBlock} logs`);
    }
    parent = outcome;
  }
}

function writeBlock(tables: Tables, outcome: Outcome): void {
  const { number, hash } = outcome;
  const key = blockKey(number, hash);
  const hashBytes = fromHex(hash);
  putLast(tables.canonical, numberKey(number), hashBytes);
  tables.numbers.putSync(hashBytes, numberKey(number));
  putLast(tables.headers, key, outcome.header);
  putLast(tables.blocks, key, outcome.block);
  putLast(tables.receipts, key, encodeReceipts(outcome.receipts));
  const chunks = encodeLogChunks({ hash: hashBytes, timestamp: outcome.timestamp }, outcome.logs, (index) => {
    const receipt = outcome.receipts[index];
    if (receipt === undefined)
      throw new StoreError('conflict', `block ${number} has a log without a receipt`);
    return receipt.transactionHash;
  });
  chunks.forEach((chunk, index) => {
    putLast(tables.logs, logChunkKey(number, index), chunk);
  });
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
  for (const hash of undo.codes) tables.code.removeSync(hash);

  const logs = readLogs(tables, number);
  const hash = tables.canonical.getBinary(key);
  if (logs === undefined || hash === undefined)
    throw new StoreError('corrupt', `block ${number} is incomplete`);
  const all = Array.from({ length: logs.length }, (_, index) => logs.log(index));
  deleteRecent(tables, number, all, context.prefix);
  for (let chunk = 0; chunk === 0 || chunk * logsPerChunk < all.length; chunk++) {
    tables.logs.removeSync(logChunkKey(number, chunk));
  }
  for (const table of [tables.headers, tables.blocks, tables.receipts])
    table.removeSync(blockKey(number, toHex(hash)));
  tables.numbers.removeSync(hash);
  for (const table of [tables.canonical, tables.undo, tables.diffs]) table.removeSync(key);
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
