import { ByteReader, ByteWriter, CodecError } from './byte-codec.ts';
import { type Receipt, type ReceiptExtra, receiptExtra } from './receipt.ts';

const hasTo = 1;
const hasContract = 2;
const hasStatus = 4;
const statusIsOne = 8;
const hasRoot = 16;
const bloomIsRaw = 32;
const hasExtras = 64;
/** Cumulative gas is not the sum of the gas used so far, so it is written out. */
const hasCumulative = 128;

const bloomBytes = 256;
/** A receipt is never shorter: flags, type, two hashes' worth of fields, gas, price, bloom, count. */
const minReceiptBytes = 58;

const extraByTag = new Map<number, ReceiptExtra>(
  Object.entries(receiptExtra).map(([name, tag]) => [tag, name as ReceiptExtra]),
);

/** Encodes a block's receipts; blooms as the list of their set bits, because most have few. */
export function encodeReceipts(receipts: readonly Receipt[]): Buffer {
  const out = new ByteWriter(64 + receipts.length * 160);
  out.varint(receipts.length);
  let cumulative = 0;
  for (const receipt of receipts) {
    cumulative += receipt.gasUsed;
    const bits = setBits(receipt.bloom);
    const sparse = sparseSize(bits) < bloomBytes;
    const explicit = cumulative !== receipt.cumulativeGasUsed;
    out.byte(
      (receipt.to === undefined ? 0 : hasTo) |
        (receipt.contractAddress === undefined ? 0 : hasContract) |
        (receipt.status === undefined ? 0 : hasStatus) |
        (receipt.status === 1 ? statusIsOne : 0) |
        (receipt.root === undefined ? 0 : hasRoot) |
        (sparse ? 0 : bloomIsRaw) |
        (receipt.extras.length === 0 ? 0 : hasExtras) |
        (explicit ? hasCumulative : 0),
    );
    out.byte(receipt.type);
    out.raw(receipt.transactionHash);
    out.raw(receipt.from);
    if (receipt.to !== undefined) out.raw(receipt.to);
    if (receipt.contractAddress !== undefined) out.raw(receipt.contractAddress);
    if (receipt.root !== undefined) out.raw(receipt.root);
    out.varint(receipt.gasUsed);
    if (explicit) out.varint(receipt.cumulativeGasUsed);
    cumulative = receipt.cumulativeGasUsed;
    out.bigint(receipt.effectiveGasPrice);
    if (sparse) writeBits(out, bits);
    else out.raw(receipt.bloom);
    out.varint(receipt.logCount);
    if (receipt.extras.length > 0) writeExtras(out, receipt.extras);
  }
  return out.finish();
}

/** Decodes what `encodeReceipts` wrote. Byte fields are views into `bytes`. */
export function decodeReceipts(bytes: Uint8Array): Receipt[] {
  const input = new ByteReader(bytes);
  const count = input.count(minReceiptBytes);
  const receipts: Receipt[] = [];
  let cumulative = 0;
  for (let index = 0; index < count; index++) {
    const receipt = readReceipt(input, cumulative);
    cumulative = receipt.cumulativeGasUsed;
    receipts.push(receipt);
  }
  input.end();
  return receipts;
}

/** The transaction hash of one receipt of what `encodeReceipts` wrote, without decoding those before it. */
export function receiptHashAt(bytes: Uint8Array, index: number): Uint8Array | undefined {
  const input = new ByteReader(bytes);
  if (index >= input.count(minReceiptBytes)) return undefined;
  for (let at = 0; at < index; at++) skipReceipt(input);
  input.skip(2);
  return input.raw(32);
}

function skipReceipt(input: ByteReader): void {
  const flags = input.byte();
  const optional = (flag: number, bytes: number): number => ((flags & flag) === 0 ? 0 : bytes);
  input.skip(1 + 32 + 20 + optional(hasTo, 20) + optional(hasContract, 20) + optional(hasRoot, 32));
  input.varint();
  if ((flags & hasCumulative) !== 0) input.varint();
  input.skip(input.count(1));
  if ((flags & bloomIsRaw) !== 0) input.skip(bloomBytes);
  else for (let left = input.count(1); left > 0; left--) input.varint();
  input.varint();
  if ((flags & hasExtras) !== 0) readExtras(input);
}

function readReceipt(input: ByteReader, before: number): Receipt {
  const flags = input.byte();
  const type = input.byte();
  const transactionHash = input.raw(32);
  const from = input.raw(20);
  const to = (flags & hasTo) === 0 ? undefined : input.raw(20);
  const contractAddress = (flags & hasContract) === 0 ? undefined : input.raw(20);
  const root = (flags & hasRoot) === 0 ? undefined : input.raw(32);
  const status = (flags & hasStatus) === 0 ? undefined : (flags & statusIsOne) === 0 ? 0 : 1;
  const gasUsed = input.varint();
  const cumulativeGasUsed = (flags & hasCumulative) === 0 ? before + gasUsed : input.varint();
  if (!Number.isSafeInteger(cumulativeGasUsed)) throw new CodecError('cumulative gas too large');
  const effectiveGasPrice = input.bigint();
  const bloom = (flags & bloomIsRaw) === 0 ? readBits(input) : input.raw(bloomBytes);
  const logCount = input.varint();
  const extras = (flags & hasExtras) === 0 ? [] : readExtras(input);
  return {
    transactionHash,
    type,
    from,
    to,
    contractAddress,
    status,
    root,
    gasUsed,
    cumulativeGasUsed,
    effectiveGasPrice,
    bloom,
    logCount,
    extras,
  };
}

function writeExtras(out: ByteWriter, extras: Receipt['extras']): void {
  out.varint(extras.length);
  for (const [name, value] of extras) {
    out.byte(receiptExtra[name]);
    out.bigint(value);
  }
}

function readExtras(input: ByteReader): [ReceiptExtra, bigint][] {
  const extras: [ReceiptExtra, bigint][] = [];
  for (let left = input.count(2); left > 0; left--) {
    const tag = input.byte();
    const name = extraByTag.get(tag);
    if (name === undefined) throw new CodecError(`unknown receipt field ${tag}`);
    extras.push([name, input.bigint()]);
  }
  return extras;
}

function setBits(bloom: Uint8Array): number[] {
  const bits: number[] = [];
  for (let at = 0; at < bloom.length; at++) {
    const byte = bloom[at] ?? 0;
    for (let bit = 0; byte >> bit !== 0; bit++) if ((byte >> bit) & 1) bits.push(at * 8 + bit);
  }
  return bits;
}

/** Bytes of the sparse form; a gap of 128 bits or more takes a second byte. */
function sparseSize(bits: readonly number[]): number {
  let size = 2;
  let previous = 0;
  for (const bit of bits) {
    size += bit - previous > 0x7f ? 2 : 1;
    previous = bit;
  }
  return size;
}

function writeBits(out: ByteWriter, bits: readonly number[]): void {
  out.varint(bits.length);
  let previous = 0;
  for (const bit of bits) {
    out.varint(bit - previous);
    previous = bit;
  }
}

function readBits(input: ByteReader): Uint8Array {
  const bloom = new Uint8Array(bloomBytes);
  let bit = 0;
  for (let left = input.count(1); left > 0; left--) {
    bit += input.varint();
    if (bit >= bloomBytes * 8) throw new CodecError('bloom bit out of range');
    bloom[bit >> 3] = (bloom[bit >> 3] ?? 0) | (1 << (bit & 7));
  }
  return bloom;
}
