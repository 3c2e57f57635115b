import { toHex } from '../../../src/primitives/hex.ts';
import type { BlockLogs, Store } from '../../../src/store/interface.ts';
import { address, topic, word } from './contract-chain.ts';

/** Reads an async iterable to its end. */
export async function readAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Every log of a block, with bytes as hex. */
export function describeLogs(logs: BlockLogs): unknown[] {
  return Array.from({ length: logs.length }, (_, index) => {
    const log = logs.log(index);
    return {
      transactionIndex: log.transactionIndex,
      address: bytes(log.address),
      topics: log.topics.map(bytes),
      data: bytes(log.data),
      transactionHash: bytes(logs.transactionHash(log.transactionIndex)),
    };
  });
}

/** All that can be seen of a small store through its interface, as comparable text. */
export async function describeChain(store: Store): Promise<unknown> {
  const marks = await store.marks();
  if (marks === undefined) return 'empty';
  const blocks: unknown[] = [];
  for (let number = Math.max(0, marks.lowest.number - 10); number <= marks.head.number + 10; number++) {
    const hash = await store.canonicalHash(number);
    const diff = await store.diffBytes(number);
    if (hash === undefined) {
      blocks.push({ number, diff: diff && toHex(diff) });
      continue;
    }
    const ref = { number, hash };
    const receipts = await store.receipts(ref);
    const block = await store.block(ref);
    const hashes = receipts?.receipts.map(({ transactionHash }) => toHex(transactionHash)) ?? [];
    blocks.push({
      number,
      hash,
      known: await store.numberOf(hash),
      block: block && toHex(block),
      receipts: hashes,
      places: await Promise.all(hashes.map(async (transaction) => store.transaction(transaction))),
      logs: receipts && describeLogs(receipts.logs),
      state: number < marks.anchor.number ? undefined : (await readAll(store.scanState(number))).map(plain),
    });
  }
  const found: unknown[] = [];
  const everything = [[], ...Array.from({ length: 20 }, (_, value) => [address(value)])];
  for (const addresses of everything) {
    const matches = await readAll(
      store.findLogs({ addresses, topics: [] }, marks.lowest.number, marks.head.number),
    );
    found.push(matches.map((match) => [match.block.number, match.indexes]));
  }
  for (let value = 0; value < 12; value++) {
    const topics = [[topic(value), word(value)]];
    const matches = await readAll(
      store.findLogs({ addresses: [], topics }, marks.lowest.number, marks.head.number),
    );
    found.push(matches.map((match) => [match.block.number, match.indexes]));
  }
  return { marks, blocks, found, transactionsFrom: await store.transactionsFrom() };
}

/** Bytes as hex without prefix. */
export function bytes(value: Uint8Array | undefined): string | undefined {
  return value === undefined ? undefined : Buffer.from(value).toString('hex');
}

/** The same value with its byte strings as hex, whatever class they are of. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return bytes(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, plain(entry)]));
}
