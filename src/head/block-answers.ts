import { andThen } from '../primitives/awaitable.ts';
import type { BlockSelector } from '../primitives/block-selector.ts';
import { type Awaitable, type Hex, toHex, ZERO_HASH } from '../primitives/hex.ts';
import type { BlockParts } from './parts.ts';
import type { Listing } from './rendered.ts';
import type { BlockForms, Snapshot, TransactionForms } from './snapshot.ts';

/** An answer about a block that a snapshot names, or undefined where it knows of none. */
type FromBlock<T> = (snapshot: Snapshot, selector: BlockSelector) => Awaitable<T | undefined>;
/** The same about a transaction. */
type FromTransaction<T> = (snapshot: Snapshot, hash: Hex) => Awaitable<T | undefined>;

function fromBlock<T>(give: BlockForms<T>): FromBlock<T> {
  return (snapshot, selector) => snapshot.fromBlock(selector, give);
}

function fromTransaction<T>(give: TransactionForms<T>): FromTransaction<T> {
  return (snapshot, hash) => snapshot.fromTransaction(hash, give);
}

const transaction: TransactionForms<string> = {
  preconfirmed: (block, index, { json }) => json.ofPreconfirmed(block, index),
  confirmed: (ref, index, reader) => reader.transactionAt(ref, index),
};

/** The JSON array of a block's receipts. */
export const receiptsOf = fromBlock<Buffer>({
  preconfirmed: (block) => block.receiptsJson(),
  confirmed: (ref, reader) => reader.receipts(ref),
});

/** The JSON of a block. */
export function blockOf(
  snapshot: Snapshot,
  selector: BlockSelector,
  listing: Listing,
): Awaitable<string | Buffer | undefined> {
  return snapshot.fromBlock<string | Buffer>(selector, {
    preconfirmed: (block, { json }) => json.preconfirmed(block, listing),
    confirmed: (ref, reader) => reader.block(ref, listing),
  });
}

/** The JSON of a block's header. */
export const headerOf = fromBlock<string>({
  preconfirmed: ({ header, timestampMs }, { json }) => json.header(header, timestampMs, ZERO_HASH),
  confirmed: (ref, reader) =>
    andThen(reader.header(ref), (header) =>
      andThen(reader.timestampMs(ref), (timestampMs) => reader.json.header(header, timestampMs)),
    ),
});

/** How many transactions a block has. */
export const transactionCountOf = fromBlock<number>({
  preconfirmed: ({ transactions }) => transactions,
  confirmed: (ref, reader) => andThen(reader.receiptsOf(ref), ({ receipts }) => receipts.length),
});

/** The JSON of one transaction of a block. */
export function transactionAt(
  snapshot: Snapshot,
  selector: BlockSelector,
  index: number,
): Awaitable<string | undefined> {
  return snapshot.fromBlock(selector, {
    preconfirmed: (block, reader) => transaction.preconfirmed(block, index, reader),
    confirmed: (ref, reader) => transaction.confirmed(ref, index, reader),
  });
}

/** The JSON of a transaction. */
export const transactionOf = fromTransaction(transaction);

/** The JSON of a transaction's receipt. */
export const receiptOf = fromTransaction<string>({
  preconfirmed: (block, index) => block.receiptJson(index),
  confirmed: (ref, index, reader) => reader.receipt(ref, index),
});

/** The bytes of a block's header, as hex. */
export const rawHeaderOf = fromBlock<Hex>({
  preconfirmed: ({ header }) => toHex(header),
  confirmed: (ref, reader) => andThen(reader.header(ref), toHex),
});

/** The bytes of a block, as hex. */
export const rawBlockOf = fromBlock<Hex>({
  preconfirmed: (block, { json }) => json.rawPreconfirmed(block),
  confirmed: (ref, reader) => andThen(reader.blockBytes(ref), toHex),
});

/** The bytes of each of a block's receipts, as hex. */
export const rawReceiptsOf = fromBlock<readonly Hex[]>({
  preconfirmed: (block, { json }) =>
    andThen(block.receiptsJson(), (receipts) => json.rawReceipts(block.header, receipts)),
  confirmed: (ref, reader) =>
    andThen(reader.header(ref), (header) =>
      andThen(reader.receipts(ref), (receipts) => reader.json.rawReceipts(header, receipts)),
    ),
});

/** The bytes of a transaction, as hex. */
export const rawTransactionOf = fromTransaction<Hex>({
  preconfirmed: (block, index, { json }) => json.rawOfPreconfirmed(block, index),
  confirmed: (ref, index, reader) =>
    andThen(reader.blockBytes(ref), (block) => reader.json.rawTransaction(block, index)),
});

/** What a block of a snapshot consists of, pre-confirmed ones by their number too; undefined for one that is not known. */
export function partsAt(snapshot: Snapshot, selector: BlockSelector): Awaitable<BlockParts | undefined> {
  const ahead = selector.kind === 'number' && selector.number > snapshot.head.number;
  if (ahead) return snapshot.pending?.blocks.find(({ number }) => number === selector.number)?.parts;
  return snapshot.fromBlock<BlockParts>(selector, {
    preconfirmed: ({ parts }) => parts,
    confirmed: (ref, reader) => reader.parts(ref),
  });
}
