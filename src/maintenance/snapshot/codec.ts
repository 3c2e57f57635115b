import { ByteReader, type ByteWriter, CodecError } from '../../chain/byte-codec.ts';
import type { Log } from '../../chain/log.ts';
import { LogChunk } from '../../chain/log-codec.ts';
import type { Outcome } from '../../chain/outcome.ts';
import { decodeDiff } from '../../chain/outcome-codec.ts';
import { decodeReceipts, encodeReceipts } from '../../chain/receipt-codec.ts';
import { keyText, type StateKey } from '../../chain/state-key.ts';
import { fromHex, toHex } from '../../primitives/hex.ts';
import { logChunksOf } from '../../store/log-chunks.ts';

/** One piece of the state that a copy begins with: a value, or that an account lost all its slots. */
export type StartEntry =
  | { readonly key: StateKey; readonly value: Uint8Array }
  | { readonly wiped: Uint8Array };

const TAGS = { account: 1, slot: 2, code: 3, blockHash: 4, wipe: 5 } as const;
/** Tag, address and the length of a value. */
const LEAST_ENTRY = 8;
/** No block is shorter: hashes, and empty parts. */
const LEAST_BLOCK = 64;

/** Writes a block with what it gave. */
export function writeOutcome(out: ByteWriter, outcome: Outcome): void {
  out.varint(outcome.number);
  out.raw(fromHex(outcome.hash));
  out.raw(fromHex(outcome.parentHash));
  out.varint(outcome.timestamp);
  out.varint(outcome.timestampMs ?? 0);
  for (const part of [outcome.header, outcome.block, encodeReceipts(outcome.receipts)]) writeBytes(out, part);
  const chunks = logChunksOf(outcome);
  out.varint(chunks.length);
  for (const chunk of chunks) writeBytes(out, chunk);
  writeBytes(out, outcome.diffBytes);
}

/** Reads a segment of so many blocks. Parts are views of `raw`; diffs are read as they are asked for. */
export function readOutcomes(raw: Uint8Array, count: number): Outcome[] {
  const input = new ByteReader(raw);
  if (count * LEAST_BLOCK > raw.length) throw new CodecError('more blocks than bytes for them');
  const outcomes = Array.from({ length: count }, () => readOutcome(input));
  input.end();
  return outcomes;
}

function readOutcome(input: ByteReader): Outcome {
  const number = input.varint();
  const hash = toHex(input.raw(32));
  const parentHash = toHex(input.raw(32));
  const timestamp = input.varint();
  const timestampMs = input.varint() || undefined;
  const [header, block, receipts] = [readBytes(input), readBytes(input), readBytes(input)];
  const logs: Log[] = [];
  for (let left = input.count(1); left > 0; left--) {
    const chunk = new LogChunk(readBytes(input));
    for (let index = 0; index < chunk.length; index++) logs.push(chunk.log(index));
  }
  const diffBytes = readBytes(input);
  return {
    ...{ number, hash, parentHash, timestamp, timestampMs, header, block, logs, diffBytes },
    receipts: decodeReceipts(receipts),
    diff: decodeDiff(diffBytes),
  };
}

/** Writes a piece of state. */
export function writeEntry(out: ByteWriter, entry: StartEntry): void {
  if ('wiped' in entry) {
    out.byte(TAGS.wipe);
    out.raw(entry.wiped);
    return;
  }
  const { key, value } = entry;
  out.byte(TAGS[key.kind]);
  if (key.kind === 'blockHash') out.varint(key.number);
  else if (key.kind === 'code') out.raw(key.hash);
  else out.raw(key.address);
  if (key.kind === 'slot') out.raw(key.slot);
  writeBytes(out, value);
}

/** Reads a segment of so many pieces of state. */
export function readEntries(raw: Uint8Array, count: number): StartEntry[] {
  const input = new ByteReader(raw);
  if (count * LEAST_ENTRY > raw.length) throw new CodecError('more keys than bytes for them');
  const entries = Array.from({ length: count }, () => readEntry(input));
  input.end();
  return entries;
}

function readEntry(input: ByteReader): StartEntry {
  const tag = input.byte();
  if (tag === TAGS.wipe) return { wiped: input.raw(20) };
  const key = readKey(input, tag);
  return { key, value: readBytes(input) };
}

function readKey(input: ByteReader, tag: number): StateKey {
  switch (tag) {
    case TAGS.account:
      return { kind: 'account', address: input.raw(20) };
    case TAGS.slot:
      return { kind: 'slot', address: input.raw(20), slot: input.raw(32) };
    case TAGS.code:
      return { kind: 'code', hash: input.raw(32) };
    case TAGS.blockHash:
      return { kind: 'blockHash', number: input.varint() };
    default:
      throw new CodecError(`unknown kind of state ${tag}`);
  }
}

/** The name of a piece of state, as the manifest has it. */
export function entryName(entry: StartEntry): string {
  return 'wiped' in entry ? `w${toHex(entry.wiped).slice(2)}` : keyText(entry.key);
}

/** Writes bytes behind their length. */
export function writeBytes(out: ByteWriter, bytes: Uint8Array): void {
  out.varint(bytes.length);
  out.raw(bytes);
}

/** Reads them back. */
export function readBytes(input: ByteReader): Uint8Array {
  return input.raw(input.count(1));
}
