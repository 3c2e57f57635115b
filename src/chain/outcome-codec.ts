import { fromHex, toHex } from '../primitives/hex.ts';
import { CodecError } from './byte-codec.ts';
import type { StateDiff } from './diff.ts';
import type { Log } from './log.ts';
import { NativeWriter } from './native-writer.ts';
import type { EncodedOutcome, Outcome } from './outcome.ts';
import { type Receipt, type ReceiptExtra, receiptExtra } from './receipt.ts';

const HAS_TO = 1;
const HAS_CONTRACT = 2;
const HAS_ROOT = 4;
const SUCCEEDED = 8;

/** So many bytes are an integer that a number holds. */
const SAFE_BYTES = 6;

const EXTRA_NAMES = new Map(
  Object.entries(receiptExtra).map(([name, tag]) => [tag as number, name as ReceiptExtra]),
);

/** Reads the native core's layout (`bytes.rs`): little-endian lengths and raw bytes, without padding. */
class NativeReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  raw(length: number): Uint8Array {
    const end = this.#offset + length;
    if (end > this.#bytes.length) throw new CodecError('unexpected end of bytes');
    const part = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return part;
  }

  u8(): number {
    return this.#view.getUint8(this.#advance(1));
  }

  u32(): number {
    return this.#view.getUint32(this.#advance(4), true);
  }

  u64(): number {
    const value = this.#view.getBigUint64(this.#advance(8), true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new CodecError('number too large');
    return Number(value);
  }

  bytes(): Uint8Array {
    return this.raw(this.u32());
  }

  quantity(): bigint {
    const length = this.u32();
    if (length > 32) throw new CodecError('integer wider than 256 bits');
    if (length > SAFE_BYTES) return BigInt(toHex(this.raw(length)));
    // Most are small, and a receipt has a dozen of them.
    const at = this.#advance(length);
    let value = 0;
    for (let index = at; index < at + length; index++) value = value * 256 + this.#view.getUint8(index);
    return BigInt(value);
  }

  /** Items one after another; a count that the bytes cannot hold fails at the first item past the end. */
  list<T>(read: () => T): T[] {
    const items: T[] = [];
    for (let left = this.u32(); left > 0; left--) items.push(read());
    return items;
  }

  /** All that was not read yet. */
  rest(): Uint8Array {
    return this.#bytes.subarray(this.#offset);
  }

  end(): void {
    const left = this.#bytes.length - this.#offset;
    if (left !== 0) throw new CodecError(`${left} bytes left over`);
  }

  #advance(length: number): number {
    const at = this.#offset;
    if (at + length > this.#bytes.length) throw new CodecError('unexpected end of bytes');
    this.#offset = at + length;
    return at;
  }
}

/** Receipts and logs follow each other without a length: who wants the one has passed the other. */
interface Records {
  readonly receipts: readonly Receipt[];
  readonly logs: readonly Log[];
}

/**
 * Reads what executing a block gave, as the native core writes it. Parts are views of `bytes`. Receipts and logs are read when
 * one of them is first asked for, and so is the diff: few threads want all of it, and as objects it is many times larger.
 */
export function decodeOutcome(bytes: Uint8Array): EncodedOutcome {
  const input = new NativeReader(bytes);
  const number = input.u64();
  const hash = toHex(input.raw(32));
  const parentHash = toHex(input.raw(32));
  const timestamp = input.u64();
  const timestampMs = input.u64() || undefined;
  const header = input.bytes();
  const block = input.bytes();
  const diffBytes = input.bytes();
  const rest = input.rest();
  const records = once(() => decodeRecords(rest));
  const diff = once(() => decodeDiff(diffBytes));
  return {
    ...{ number, hash, parentHash, timestamp, timestampMs, header, block, diffBytes },
    get receipts() {
      return records().receipts;
    },
    get logs() {
      return records().logs;
    },
    get diff() {
      return diff();
    },
    encoded: bytes,
  };
}

/** How many transactions an outcome has, without reading them. */
export function countTransactions(bytes: Uint8Array): number {
  const input = new NativeReader(bytes);
  input.raw(8 + 32 + 32 + 8 + 8);
  for (let part = 0; part < 3; part++) input.bytes();
  return input.u32();
}

function decodeRecords(bytes: Uint8Array): Records {
  const input = new NativeReader(bytes);
  const receipts = input.list(() => readReceipt(input));
  const logs = input.list(() => readLog(input));
  input.end();
  return { receipts, logs };
}

/** Makes a value when it is first asked for. */
function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Reads a state diff, as the native core writes it. Parts are views of `bytes`. */
export function decodeDiff(bytes: Uint8Array): StateDiff {
  const input = new NativeReader(bytes);
  const wiped = input.list(() => input.raw(20));
  const accounts = input.list(() => [input.raw(20), input.bytes()] as const);
  const slots = input.list(() => [input.raw(20), input.raw(32), input.bytes()] as const);
  const codes = input.list(() => [input.raw(32), input.bytes()] as const);
  input.end();
  return { wiped, accounts, slots, codes };
}

function readReceipt(input: NativeReader): Receipt {
  const transactionHash = input.raw(32);
  const type = input.u8();
  const flags = input.u8();
  const from = input.raw(20);
  const to = flags & HAS_TO ? input.raw(20) : undefined;
  const contractAddress = flags & HAS_CONTRACT ? input.raw(20) : undefined;
  const root = flags & HAS_ROOT ? input.raw(32) : undefined;
  return {
    transactionHash,
    type,
    from,
    to,
    contractAddress,
    root,
    status: root === undefined ? Number((flags & SUCCEEDED) !== 0) : undefined,
    gasUsed: input.u64(),
    cumulativeGasUsed: input.u64(),
    effectiveGasPrice: input.quantity(),
    bloom: input.raw(256),
    logCount: input.u32(),
    extras: input.list(() => [readExtraName(input), input.quantity()] as const),
  };
}

function readExtraName(input: NativeReader): ReceiptExtra {
  const tag = input.u8();
  const name = EXTRA_NAMES.get(tag);
  if (name === undefined) throw new CodecError(`unknown receipt field ${tag}`);
  return name;
}

function readLog(input: NativeReader): Log {
  return {
    transactionIndex: input.u32(),
    address: input.raw(20),
    topics: input.list(() => input.raw(32)),
    data: input.bytes(),
  };
}

/** Writes an outcome as the native core does: for one that was read from a store in parts. */
export function encodeOutcome(outcome: Outcome): Uint8Array {
  if ('encoded' in outcome) return (outcome as EncodedOutcome).encoded;
  const out = new NativeWriter();
  out.number(outcome.number, 8);
  out.raw(fromHex(outcome.hash));
  out.raw(fromHex(outcome.parentHash));
  out.number(outcome.timestamp, 8);
  out.number(outcome.timestampMs ?? 0, 8);
  for (const bytes of [outcome.header, outcome.block, outcome.diffBytes]) out.bytes(bytes);
  out.list(outcome.receipts, (receipt) => writeReceipt(out, receipt));
  out.list(outcome.logs, ({ transactionIndex, address, topics, data }) => {
    out.number(transactionIndex, 4);
    out.raw(address);
    out.list(topics, (topic) => out.raw(topic));
    out.bytes(data);
  });
  return out.finish();
}

function writeReceipt(out: NativeWriter, receipt: Receipt): void {
  const { to, contractAddress, root, status } = receipt;
  out.raw(receipt.transactionHash);
  out.number(receipt.type, 1);
  const flags =
    (to ? HAS_TO : 0) |
    (contractAddress ? HAS_CONTRACT : 0) |
    (root ? HAS_ROOT : 0) |
    (status === 1 ? SUCCEEDED : 0);
  out.number(flags, 1);
  out.raw(receipt.from);
  for (const part of [to, contractAddress, root]) if (part !== undefined) out.raw(part);
  out.number(receipt.gasUsed, 8);
  out.number(receipt.cumulativeGasUsed, 8);
  out.quantity(receipt.effectiveGasPrice);
  out.raw(receipt.bloom);
  out.number(receipt.logCount, 4);
  out.list(receipt.extras, ([name, value]) => {
    out.number(receiptExtra[name], 1);
    out.quantity(value);
  });
}
