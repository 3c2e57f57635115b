import { ByteReader, ByteWriter, CodecError } from './byte-codec.ts';
import type { Log } from './log.ts';

/**
 * The logs of a block are stored in chunks of this many, so that reading one log of a busy block (5,000 logs,
 * 500 kB) touches 2 or 3 kB. Smaller chunks repeat more dictionary entries. The number suits LMDB's 8 kB pages and
 * the rows of test/scale, where three chunks fill a page: 135 bytes a log, against 164 with chunks of 32. Logs of
 * another size may favour another number; none was tried on real blocks.
 */
export const logsPerChunk = 24;

/** What every chunk of a block's logs repeats, so that one read of one chunk answers for its logs. */
export interface LogChunkHead {
  readonly hash: Uint8Array;
  readonly timestamp: number;
  /** The same in milliseconds, where the block says it. */
  readonly timestampMs?: number | undefined;
  /** Logs in the whole block. */
  readonly logCount: number;
}

const topicCountMask = 7;
/** Data is whole 32-byte words, each written as a length byte and its bytes without leading zeros. */
const trimmedData = 8;
const addressPadding = 12;
const maxTopics = 4;

/** Encodes a block's logs as its chunks in order; a block without logs still has one, empty. */
export function encodeLogChunks(
  head: Omit<LogChunkHead, 'logCount'>,
  logs: readonly Log[],
  transactionHash: (transactionIndex: number) => Uint8Array,
): Buffer[] {
  const chunks: Buffer[] = [];
  const full = { ...head, logCount: logs.length };
  for (let first = 0; first === 0 || first < logs.length; first += logsPerChunk) {
    chunks.push(encodeChunk(full, logs.slice(first, first + logsPerChunk), transactionHash));
  }
  return chunks;
}

function encodeChunk(
  head: LogChunkHead,
  logs: readonly Log[],
  transactionHash: (transactionIndex: number) => Uint8Array,
): Buffer {
  const addresses = new Dictionary();
  const topics = new Dictionary();
  // A topic that is an address is kept without its padding.
  const shortTopics = new Dictionary();
  const transactions: number[] = [];
  for (const log of logs) {
    addresses.add(log.address);
    for (const topic of log.topics) {
      if (isPadded(topic)) shortTopics.add(topic.subarray(addressPadding));
      else topics.add(topic);
    }
    if (transactions.at(-1) !== log.transactionIndex) transactions.push(log.transactionIndex);
  }
  const topicSlot = (topic: Uint8Array): number =>
    isPadded(topic) ? topics.size + shortTopics.slot(topic.subarray(addressPadding)) : topics.slot(topic);

  const bodies = new ByteWriter(logs.length * 64 + 16);
  const ends: number[] = [];
  let transactionSlot = -1;
  let transaction = -1;
  for (const log of logs) {
    if (log.transactionIndex !== transaction) {
      transaction = log.transactionIndex;
      transactionSlot++;
    }
    writeBody(bodies, log, transactionSlot, addresses.slot(log.address), topicSlot);
    ends.push(bodies.length);
  }

  const out = new ByteWriter(bodies.length + 1024);
  out.raw(head.hash);
  out.varint(head.timestamp);
  out.varint(head.logCount);
  out.varint(logs.length);
  addresses.write(out);
  topics.write(out);
  shortTopics.write(out);
  out.varint(transactions.length);
  for (const index of transactions) out.varint(index);
  for (const index of transactions) out.raw(transactionHash(index));
  const wide = bodies.length > 0xffff;
  out.byte(wide ? 4 : 2);
  const table = Buffer.allocUnsafe(ends.length * (wide ? 4 : 2));
  ends.forEach((end, index) => {
    if (wide) table.writeUInt32LE(end, index * 4);
    else table.writeUInt16LE(end, index * 2);
  });
  out.raw(table);
  out.raw(bodies.finish());
  // Behind the last log: chunks written before there were such times end there.
  if (head.timestampMs !== undefined) out.varint(head.timestampMs);
  return out.finish();
}

function writeBody(
  out: ByteWriter,
  log: Log,
  transactionSlot: number,
  addressSlot: number,
  topicSlot: (topic: Uint8Array) => number,
): void {
  const trimmed = trimWords(log.data);
  out.byte(log.topics.length | (trimmed === undefined ? 0 : trimmedData));
  out.varint(transactionSlot);
  out.varint(addressSlot);
  for (const topic of log.topics) out.varint(topicSlot(topic));
  out.raw(trimmed ?? log.data);
}

/** One stored chunk; reads single logs out of it without decoding the others. Byte fields are views. */
export class LogChunk implements LogChunkHead {
  readonly hash: Uint8Array;
  readonly timestamp: number;
  readonly timestampMs: number | undefined;
  readonly logCount: number;
  /** Logs in this chunk. */
  readonly length: number;
  readonly #bytes: Buffer;
  readonly #addresses: FixedList;
  readonly #topics: FixedList;
  readonly #shortTopics: FixedList;
  readonly #transactions: number[] = [];
  readonly #transactionHashes: number;
  readonly #endWidth: number;
  readonly #ends: number;
  readonly #bodies: number;

  constructor(bytes: Uint8Array) {
    const input = new ByteReader(bytes);
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.hash = input.raw(32);
    this.timestamp = input.varint();
    this.logCount = input.varint();
    this.length = input.count(5);
    if (this.length > this.logCount || this.length > logsPerChunk)
      throw new CodecError('too many logs in a chunk');
    this.#addresses = readFixedList(input, 20);
    this.#topics = readFixedList(input, 32);
    this.#shortTopics = readFixedList(input, 20);
    const transactions = input.count(33);
    for (let left = transactions; left > 0; left--) this.#transactions.push(input.varint());
    this.#transactionHashes = input.offset;
    input.raw(transactions * 32);
    this.#endWidth = input.byte();
    if (this.#endWidth !== 2 && this.#endWidth !== 4) throw new CodecError('bad width of log offsets');
    this.#ends = input.offset;
    input.raw(this.length * this.#endWidth);
    this.#bodies = input.offset;
    input.raw(this.length === 0 ? 0 : this.#end(this.length - 1));
    this.timestampMs = input.remaining === 0 ? undefined : input.varint();
    input.end();
  }

  /** The log at `index` of this chunk. */
  log(index: number): Log {
    const input = this.#body(index);
    const flags = input.byte();
    const transactionIndex = this.#transactions[input.varint()];
    if (transactionIndex === undefined) throw new CodecError('log of an unknown transaction');
    const address = this.#item(this.#addresses, input.varint());
    const topicCount = flags & topicCountMask;
    if (topicCount > maxTopics) throw new CodecError('too many topics');
    const topics: Uint8Array[] = [];
    for (let left = topicCount; left > 0; left--) topics.push(this.#topic(input.varint()));
    const stored = input.raw(input.remaining);
    return {
      transactionIndex,
      address,
      topics,
      data: (flags & trimmedData) === 0 ? stored : restoreWords(stored),
    };
  }

  /** The hash of a transaction that has logs in this chunk. */
  transactionHash(transactionIndex: number): Uint8Array | undefined {
    const slot = this.#transactions.indexOf(transactionIndex);
    if (slot < 0) return undefined;
    const start = this.#transactionHashes + slot * 32;
    return this.#bytes.subarray(start, start + 32);
  }

  #body(index: number): ByteReader {
    if (index < 0 || index >= this.length)
      throw new RangeError(`no log ${index} in a chunk of ${this.length}`);
    const start = this.#bodies + (index === 0 ? 0 : this.#end(index - 1));
    const end = this.#bodies + this.#end(index);
    if (start > end || end > this.#bytes.length) throw new CodecError('bad log offsets');
    return new ByteReader(this.#bytes.subarray(start, end));
  }

  #end(index: number): number {
    return this.#endWidth === 2
      ? this.#bytes.readUInt16LE(this.#ends + index * 2)
      : this.#bytes.readUInt32LE(this.#ends + index * 4);
  }

  #topic(slot: number): Uint8Array {
    if (slot < this.#topics.count) return this.#item(this.#topics, slot);
    const topic = new Uint8Array(32);
    topic.set(this.#item(this.#shortTopics, slot - this.#topics.count), addressPadding);
    return topic;
  }

  #item(list: FixedList, slot: number): Uint8Array {
    if (slot >= list.count) throw new CodecError('dictionary entry out of range');
    const start = list.start + slot * list.size;
    return this.#bytes.subarray(start, start + list.size);
  }
}

interface FixedList {
  readonly start: number;
  readonly count: number;
  readonly size: number;
}

function readFixedList(input: ByteReader, size: number): FixedList {
  const count = input.count(size);
  const start = input.offset;
  input.raw(count * size);
  return { start, count, size };
}

/** Distinct byte strings in order of appearance. */
class Dictionary {
  readonly #slots = new Map<string, number>();
  readonly #items: Uint8Array[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: Uint8Array): void {
    const key = latin1(item);
    if (this.#slots.has(key)) return;
    this.#slots.set(key, this.#items.length);
    this.#items.push(item);
  }

  slot(item: Uint8Array): number {
    return this.#slots.get(latin1(item)) ?? 0;
  }

  write(out: ByteWriter): void {
    out.varint(this.#items.length);
    for (const item of this.#items) out.raw(item);
  }
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function isPadded(topic: Uint8Array): boolean {
  for (let at = 0; at < addressPadding; at++) if (topic[at] !== 0) return false;
  return true;
}

/** ABI data is mostly small numbers in 32-byte words; undefined when trimming does not pay. */
function trimWords(data: Uint8Array): Uint8Array | undefined {
  if (data.length === 0 || data.length % 32 !== 0) return undefined;
  const out = new ByteWriter(data.length + data.length / 32);
  for (let start = 0; start < data.length; start += 32) {
    let first = start;
    while (first < start + 32 && data[first] === 0) first++;
    out.byte(start + 32 - first);
    out.raw(data.subarray(first, start + 32));
  }
  return out.length < data.length ? out.finish() : undefined;
}

function restoreWords(stored: Uint8Array): Uint8Array {
  let words = 0;
  for (let at = 0; at < stored.length; words++) {
    const length = stored[at] ?? 0;
    if (length > 32) throw new CodecError('bad word length in log data');
    at += 1 + length;
    if (at > stored.length) throw new CodecError('unexpected end of log data');
  }
  const data = new Uint8Array(words * 32);
  let end = 32;
  for (let at = 0; at < stored.length; end += 32) {
    const length = stored[at] ?? 0;
    data.set(stored.subarray(at + 1, at + 1 + length), end - length);
    at += 1 + length;
  }
  return data;
}
