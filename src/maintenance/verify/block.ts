import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import { encodeReceipts } from '../../chain/receipt-codec.ts';
import { toHex } from '../../primitives/hex.ts';
import type { BlockLogs, LogQuery, Store } from '../../store/interface.ts';

/** A stored row that is not what the chain says. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError';
}

/** Refuses what differs. */
export function expect({ number, hash }: BlockRef, what: string, same: boolean): void {
  if (same) return;
  throw new VerificationError(`block ${number} ${hash}: the stored ${what} is not what it gave`);
}

/** Compares all that the store would serve of a block, but its state, with what the block gave. */
export async function checkBlock(store: Store, outcome: Outcome): Promise<void> {
  const { number, hash } = outcome;
  expect(outcome, 'hash', (await store.canonicalHash(number)) === hash);
  expect(outcome, 'number', (await store.numberOf(hash)) === number);
  expect(outcome, 'header', isSame(await store.header(outcome), outcome.header));
  expect(outcome, 'block', isSame(await store.block(outcome), outcome.block));
  const stored = await store.receipts(outcome);
  const receipts = encodeReceipts(outcome.receipts);
  expect(outcome, 'receipts', stored !== undefined && isSame(encodeReceipts(stored.receipts), receipts));
  const logs = await store.blockLogs(outcome);
  const same =
    logs !== undefined &&
    logs.timestamp === outcome.timestamp &&
    // Chunks written by older versions do not have it.
    (logs.timestampMs ?? outcome.timestampMs) === outcome.timestampMs &&
    sameLogs(logs, outcome);
  expect(outcome, 'logs', same);
  expect(outcome, 'log index', await indexIsExact(store, outcome));
  // A store that had no index is given one while it is used, the newest blocks first.
  const isIndexed = number >= ((await store.transactionsFrom()) ?? 0);
  expect(outcome, 'transaction index', !isIndexed || (await transactionsAreFound(store, outcome)));
}

/** Each transaction must be found by its hash, where it is. A row that leads elsewhere is not believed by whoever reads it. */
async function transactionsAreFound(store: Store, { number, hash, receipts }: Outcome): Promise<boolean> {
  for (const [index, { transactionHash }] of receipts.entries()) {
    const place = await store.transaction(toHex(transactionHash));
    if (place?.number !== number || place.hash !== hash || place.index !== index) return false;
  }
  return true;
}

/** Only the last blocks keep their diff, but those without a gap. */
export async function checkDiff(store: Store, outcome: Outcome, expected: boolean): Promise<boolean> {
  const diff = await store.diffBytes(outcome.number);
  if (diff === undefined && !expected) return false;
  expect(outcome, 'state diff', isSame(diff, outcome.diffBytes));
  return true;
}

function isSame(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && Buffer.compare(a, b) === 0;
}

function sameLogs(stored: BlockLogs, { logs, receipts }: Outcome): boolean {
  if (stored.length !== logs.length) return false;
  return logs.every((log, index) => {
    const found = stored.log(index);
    const transactionHash = receipts[log.transactionIndex]?.transactionHash;
    return (
      found.transactionIndex === log.transactionIndex &&
      isSame(found.address, log.address) &&
      isSame(found.data, log.data) &&
      found.topics.length === log.topics.length &&
      found.topics.every((topic, at) => isSame(topic, log.topics[at] ?? new Uint8Array())) &&
      transactionHash !== undefined &&
      isSame(stored.transactionHash(log.transactionIndex), transactionHash)
    );
  });
}

/** Each address and each topic at its position must lead to exactly the logs that have it. */
async function indexIsExact(store: Store, { logs, number }: Outcome): Promise<boolean> {
  const queries = new Map<string, { readonly query: LogQuery; readonly indexes: number[] }>();
  for (const [index, log] of logs.entries()) {
    for (const [position, value] of [log.address, ...log.topics].entries()) {
      const key = `${position} ${toHex(value)}`;
      const known = queries.get(key);
      if (known === undefined) queries.set(key, { query: queryFor(position, value), indexes: [index] });
      else known.indexes.push(index);
    }
  }
  for (const { query, indexes } of queries.values()) {
    const found: number[] = [];
    for await (const match of store.findLogs(query, number, number)) found.push(...match.indexes);
    if (found.join() !== indexes.join()) return false;
  }
  return true;
}

/** One position alone, so that no other leads the search: 0 is the address, 1 to 4 are topics. */
function queryFor(position: number, value: Uint8Array): LogQuery {
  if (position === 0) return { addresses: [value], topics: [] };
  return { addresses: [], topics: [...Array.from({ length: position - 1 }, () => []), [value]] };
}
