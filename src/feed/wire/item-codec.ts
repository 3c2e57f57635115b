import { ByteReader, ByteWriter, CodecError } from '../../chain/byte-codec.ts';
import type { Log } from '../../chain/log.ts';
import { decodeReceipts, encodeReceipts } from '../../chain/receipt-codec.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import type { FeedItem, SentRemovedBlock } from '../interface.ts';

/** Tags on the wire: a number is never given to another kind. */
const kindTag = { preconfirmed: 1, confirmed: 2, dropped: 3, marked: 4, anchored: 5 } as const;

const HASH_BYTES = 32;
const ADDRESS_BYTES = 20;
const MAX_TOPICS = 4;
/** No block of a list is shorter: number, hash and the lengths after it. */
const MIN_BLOCK_BYTES = HASH_BYTES + 2;
/** Nor is a log: transaction, address, count of topics, length of its data. */
const MIN_LOG_BYTES = ADDRESS_BYTES + 3;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Encodes an item of the feed (docs/feed.md has the layout). */
export function encodeItem(item: FeedItem): Buffer {
  const out = new ByteWriter(approximateBytes(item) + 256);
  out.byte(kindTag[item.kind]);
  switch (item.kind) {
    case 'preconfirmed':
      out.varint(item.version);
      writeText(out, item.payloadId);
      out.varint(item.index);
      out.varint(item.firstTransaction);
      out.varint(item.firstLog);
      writeBytes(out, item.outcome);
      break;
    case 'confirmed':
      out.varint(item.removed.length);
      for (const block of item.removed) writeRemoved(out, block);
      out.varint(item.added.length);
      for (const block of item.added) {
        out.varint(block.number);
        out.raw(fromHex(block.hash));
        writeBytes(out, block.outcome);
      }
      break;
    case 'dropped':
      out.varint(item.from);
      writeText(out, item.reason);
      writeOptional(out, item.version);
      break;
    case 'marked':
    case 'anchored':
      break;
  }
  return out.finish();
}

/** Decodes what `encodeItem` wrote; outcomes, diffs and fields of logs and receipts are views of `bytes`. */
export function decodeItem(bytes: Uint8Array): FeedItem {
  const input = new ByteReader(bytes);
  const item = readItem(input);
  input.end();
  return item;
}

/** What an item holds, to within some fields: what a queue counts before anything is encoded. */
export function approximateBytes(item: FeedItem): number {
  switch (item.kind) {
    case 'preconfirmed':
      return item.outcome.length;
    case 'confirmed': {
      let bytes = 0;
      for (const { outcome } of item.added) bytes += outcome.length;
      for (const { diffBytes, receipts, logs } of item.removed) {
        bytes += diffBytes.length + receipts.length * 512;
        for (const { data, topics } of logs) bytes += data.length + (topics.length + 2) * HASH_BYTES;
      }
      return bytes;
    }
    case 'dropped':
    case 'marked':
    case 'anchored':
      return 0;
  }
}

function readItem(input: ByteReader): FeedItem {
  const tag = input.byte();
  switch (tag) {
    case kindTag.preconfirmed:
      return {
        kind: 'preconfirmed',
        version: input.varint(),
        payloadId: readText(input),
        index: input.varint(),
        firstTransaction: input.varint(),
        firstLog: input.varint(),
        outcome: readBytes(input),
      };
    case kindTag.confirmed:
      return {
        kind: 'confirmed',
        removed: readList(input, MIN_BLOCK_BYTES, readRemoved),
        added: readList(input, MIN_BLOCK_BYTES, () => ({
          number: input.varint(),
          hash: readHash(input),
          outcome: readBytes(input),
        })),
      };
    case kindTag.dropped:
      return {
        kind: 'dropped',
        from: input.varint(),
        reason: readText(input),
        version: readOptional(input),
      };
    case kindTag.marked:
      return { kind: 'marked' };
    case kindTag.anchored:
      return { kind: 'anchored' };
    default:
      throw new CodecError(`unknown kind ${tag} of a feed item`);
  }
}

function writeRemoved(out: ByteWriter, block: SentRemovedBlock): void {
  out.varint(block.number);
  out.raw(fromHex(block.hash));
  out.raw(fromHex(block.parentHash));
  out.varint(block.timestamp);
  writeOptional(out, block.timestampMs);
  writeBytes(out, encodeReceipts(block.receipts));
  out.varint(block.logs.length);
  for (const log of block.logs) {
    out.varint(log.transactionIndex);
    out.raw(log.address);
    out.byte(log.topics.length);
    for (const topic of log.topics) out.raw(topic);
    writeBytes(out, log.data);
  }
  writeBytes(out, block.diffBytes);
}

function readRemoved(input: ByteReader): SentRemovedBlock {
  return {
    number: input.varint(),
    hash: readHash(input),
    parentHash: readHash(input),
    timestamp: input.varint(),
    timestampMs: readOptional(input),
    receipts: decodeReceipts(readBytes(input)),
    logs: readList(input, MIN_LOG_BYTES, readLog),
    diffBytes: readBytes(input),
  };
}

function readLog(input: ByteReader): Log {
  const transactionIndex = input.varint();
  const address = input.raw(ADDRESS_BYTES);
  const topicCount = input.byte();
  if (topicCount > MAX_TOPICS) throw new CodecError('too many topics');
  const topics: Uint8Array[] = [];
  while (topics.length < topicCount) topics.push(input.raw(HASH_BYTES));
  return { transactionIndex, address, topics, data: readBytes(input) };
}

function readList<T>(input: ByteReader, itemSize: number, read: (input: ByteReader) => T): T[] {
  const items: T[] = [];
  for (let left = input.count(itemSize); left > 0; left--) items.push(read(input));
  return items;
}

function readHash(input: ByteReader): Hex {
  return toHex(input.raw(HASH_BYTES));
}

function writeBytes(out: ByteWriter, bytes: Uint8Array): void {
  out.varint(bytes.length);
  out.raw(bytes);
}

function readBytes(input: ByteReader): Uint8Array {
  return input.raw(input.count(1));
}

function writeText(out: ByteWriter, text: string): void {
  writeBytes(out, Buffer.from(text, 'utf8'));
}

function readText(input: ByteReader): string {
  const bytes = readBytes(input);
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new CodecError('text that is not UTF-8', { cause });
  }
}

function writeOptional(out: ByteWriter, value: number | undefined): void {
  out.byte(value === undefined ? 0 : 1);
  if (value !== undefined) out.varint(value);
}

function readOptional(input: ByteReader): number | undefined {
  const flag = input.byte();
  if (flag > 1) throw new CodecError('bad flag of an optional number');
  return flag === 0 ? undefined : input.varint();
}
