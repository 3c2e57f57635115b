import type { Log } from '../../../chain/log.ts';
import { logsPerChunk } from '../../../chain/log-codec.ts';
import type { Outcome } from '../../../chain/outcome.ts';
import { encodeReceipts } from '../../../chain/receipt-codec.ts';
import { fromHex, type Hex, toHex } from '../../../primitives/hex.ts';
import { StoreError } from '../../error.ts';
import { logChunksOf } from '../../log-chunks.ts';
import { blockKey, logChunkKey, numberKey } from '../keys.ts';
import { readLogs } from '../logs/read-logs.ts';
import type { Put, Tables } from '../tables.ts';
import { forgetTransactions, indexTransactions } from '../transaction-index.ts';
import type { PostingPrefix } from '../value-hash.ts';

/** What every change needs; it runs inside the one write transaction that makes it visible. */
export interface WriteContext {
  readonly tables: Tables;
  readonly prefix: PostingPrefix;
  readonly undoWindow: number;
}

/** Writes all rows of a block but its postings and its state. */
export function writeBlock(tables: Tables, outcome: Outcome, put: Put): void {
  const { number, hash } = outcome;
  const key = blockKey(number, hash);
  const hashBytes = fromHex(hash);
  put(tables.canonical, numberKey(number), hashBytes);
  tables.numbers.putSync(hashBytes, numberKey(number));
  put(tables.headers, key, outcome.header);
  put(tables.blocks, key, outcome.block);
  put(tables.receipts, key, encodeReceipts(outcome.receipts));
  indexTransactions(tables, number, outcome.receipts);
  logChunksOf(outcome).forEach((chunk, index) => {
    put(tables.logs, logChunkKey(number, index), chunk);
  });
}

/** Deletes all rows of a block but its postings and its state; returns its logs and how many rows that were. */
export function deleteBlock(
  tables: Tables,
  number: number,
): { readonly logs: readonly Log[]; readonly rows: number } {
  const stored = readLogs(tables, number);
  if (stored === undefined) throw new StoreError('corrupt', `block ${number} has no logs row`);
  const logs = Array.from({ length: stored.length }, (_, index) => stored.log(index));
  const chunks = Math.max(1, Math.ceil(logs.length / logsPerChunk));
  for (let chunk = 0; chunk < chunks; chunk++) tables.logs.removeSync(logChunkKey(number, chunk));
  const hash = hashAt(tables, number);
  const key = blockKey(number, hash);
  const transactions = forgetTransactions(tables, number, hash);
  for (const table of [tables.headers, tables.blocks, tables.receipts]) table.removeSync(key);
  tables.numbers.removeSync(fromHex(hash));
  tables.canonical.removeSync(numberKey(number));
  return { logs, rows: 5 + chunks + transactions };
}

/** The hash of a block that must be there. */
export function hashAt(tables: Tables, number: number): Hex {
  const hash = tables.canonical.getBinary(numberKey(number));
  if (hash === undefined) throw new StoreError('corrupt', `no canonical hash of block ${number}`);
  return toHex(hash);
}
