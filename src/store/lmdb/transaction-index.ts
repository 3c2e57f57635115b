import type { Receipt } from '../../chain/receipt.ts';
import { decodeReceipts, receiptHashAt } from '../../chain/receipt-codec.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import { StoreError } from '../error.ts';
import type { TransactionPlace } from '../interface.ts';
import {
  blockKey,
  numberKey,
  samePrefix,
  transactionHashBytes,
  transactionKey,
  transactionPlace,
} from './keys.ts';
import { readIndexedFrom, readLowest, readMarks, writeIndexedFrom } from './meta.ts';
import type { Tables } from './tables.ts';

const nothing = new Uint8Array(0);

/** Has the transactions of a block found by their hashes. */
export function indexTransactions(tables: Tables, number: number, receipts: readonly Receipt[]): void {
  for (const [index, { transactionHash }] of receipts.entries()) {
    tables.transactions.putSync(transactionKey(transactionHash, number, index), nothing);
  }
}

/** Forgets the transactions of a block; how many rows that were. */
export function forgetTransactions(tables: Tables, number: number, hash: Hex): number {
  const receipts = receiptsAt(tables, number, hash);
  for (const [index, { transactionHash }] of receipts.entries()) {
    tables.transactions.removeSync(transactionKey(transactionHash, number, index));
  }
  return receipts.length;
}

/** Where the transaction with this hash is. Keys have only part of it, so what they name is looked at. */
export function findTransaction(tables: Tables, hash: Hex): TransactionPlace | undefined {
  const wanted = fromHex(hash);
  const start = wanted.subarray(0, transactionHashBytes);
  const lowest = readLowest(tables);
  for (const key of tables.transactions.getKeys({ start })) {
    if (!samePrefix(key, start, transactionHashBytes)) return undefined;
    const { number, index } = transactionPlace(key);
    const block = number < lowest ? undefined : tables.canonical.getBinary(numberKey(number));
    if (block === undefined) continue;
    const found = receiptHashAt(receiptsRow(tables, number, toHex(block)), index);
    if (found !== undefined && Buffer.compare(found, wanted) === 0)
      return { number, hash: toHex(block), index };
  }
  return undefined;
}

/**
 * Indexes about `limit` transactions of blocks that were written before there was an index, the newest first; returns whether
 * some are left.
 */
export function indexOlder(tables: Tables, limit: number): boolean {
  const marks = readMarks(tables);
  if (marks === undefined) return false;
  const lowest = marks.lowest.number;
  let from = readIndexedFrom(tables) ?? marks.head.number + 1;
  for (let left = limit; left > 0 && from > lowest; ) {
    const hash = tables.canonical.getBinary(numberKey(--from));
    if (hash === undefined) throw new StoreError('corrupt', `no canonical hash of block ${from}`);
    const receipts = receiptsAt(tables, from, toHex(hash));
    indexTransactions(tables, from, receipts);
    left -= 1 + receipts.length;
  }
  writeIndexedFrom(tables, from);
  return from > lowest;
}

function receiptsAt(tables: Tables, number: number, hash: Hex): readonly Receipt[] {
  return decodeReceipts(receiptsRow(tables, number, hash));
}

function receiptsRow(tables: Tables, number: number, hash: Hex): Uint8Array {
  const bytes = tables.receipts.getBinary(blockKey(number, hash));
  if (bytes === undefined) throw new StoreError('corrupt', `block ${number} has no receipts row`);
  return bytes;
}
