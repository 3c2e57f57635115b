import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, CodecError } from './byte-codec.ts';
import type { Log } from './log.ts';
import { encodeLogChunks, LogChunk, logsPerChunk } from './log-codec.ts';
import { type Receipt, type ReceiptExtra, receiptExtra } from './receipt.ts';
import { decodeReceipts, encodeReceipts, receiptHashAt } from './receipt-codec.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const word = fc.oneof(
  bytes(32),
  bytes(20).map((address) => Uint8Array.from([...new Uint8Array(12), ...address])),
);
const safeInteger = fc.oneof(fc.nat(), fc.maxSafeNat());

const receipt: fc.Arbitrary<Receipt> = fc.record({
  transactionHash: bytes(32),
  type: fc.nat(255),
  from: bytes(20),
  to: fc.option(bytes(20), { nil: undefined }),
  contractAddress: fc.option(bytes(20), { nil: undefined }),
  status: fc.constantFrom(undefined, 0, 1),
  root: fc.option(bytes(32), { nil: undefined }),
  gasUsed: fc.nat(),
  cumulativeGasUsed: safeInteger,
  effectiveGasPrice: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  bloom: fc.oneof(
    bytes(256),
    fc.array(fc.nat(2047), { maxLength: 20 }).map((bits) => {
      const bloom = new Uint8Array(256);
      for (const bit of bits) bloom[bit >> 3] = (bloom[bit >> 3] ?? 0) | (1 << (bit & 7));
      return bloom;
    }),
  ),
  logCount: fc.nat(5000),
  extras: fc.array(
    fc.tuple(
      fc.constantFrom(...(Object.keys(receiptExtra) as ReceiptExtra[])),
      fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    ),
    { maxLength: 4 },
  ),
});

const log: fc.Arbitrary<Log> = fc.record({
  transactionIndex: fc.nat(300),
  address: bytes(20),
  topics: fc.array(word, { maxLength: 4 }),
  data: fc.oneof(
    fc.uint8Array({ maxLength: 100 }),
    fc.array(word, { maxLength: 5 }).map((words) => Uint8Array.from(words.flatMap((entry) => [...entry]))),
  ),
});

/** Damages stored bytes: cut, overwritten in places, or all random. */
function damaged(valid: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  const edits = fc.array(fc.tuple(fc.nat(5000), fc.nat(255)), { maxLength: 6 });
  return fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc.tuple(valid, edits, fc.nat(5000)).map(([original, changes, cut]) => {
      const copy = Uint8Array.from(original.subarray(0, Math.max(1, original.length - (cut % 40))));
      for (const [at, value] of changes) copy[at % copy.length] = value;
      return copy;
    }),
  );
}

/** A decoder gives a value or a `CodecError` whatever it is fed. */
function expectTyped(decode: () => void): void {
  try {
    decode();
  } catch (error) {
    expect(error).toBeInstanceOf(CodecError);
  }
}

/** Seconds, and milliseconds where a block has them. */
const time = fc.record({ timestamp: safeInteger, timestampMs: fc.option(safeInteger, { nil: undefined }) });

describe(`storage codecs (seed ${seed})`, () => {
  it('gives varints and integers back', () => {
    fc.assert(
      fc.property(safeInteger, fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (small, large) => {
        const out = new ByteWriter(1);
        out.varint(small);
        out.bigint(large);
        const input = new ByteReader(out.finish());
        expect(input.varint()).toBe(small);
        expect(input.bigint()).toBe(large);
        input.end();
      }),
      { seed, numRuns: 500 },
    );
  });

  it('gives receipts back', () => {
    fc.assert(
      fc.property(fc.array(receipt, { maxLength: 8 }), (receipts) => {
        const encoded = encodeReceipts(receipts);
        const decoded = decodeReceipts(encoded);
        expect(decoded.map(withArrays)).toEqual(receipts.map(withArrays));
        const hashes = [...decoded, undefined].map((_, index) => receiptHashAt(encoded, index));
        expect(hashes).toEqual([...decoded.map(({ transactionHash }) => transactionHash), undefined]);
      }),
      { seed, numRuns: 200 },
    );
  });

  it('gives each log back', () => {
    fc.assert(
      fc.property(fc.array(log, { maxLength: 60 }), bytes(32), time, (unsorted, hash, times) => {
        const logs = unsorted.toSorted((a, b) => a.transactionIndex - b.transactionIndex);
        const chunks = encodeLogChunks({ hash, ...times }, logs, hashOf).map((chunk) => new LogChunk(chunk));
        expect(chunks.length).toBe(Math.max(1, Math.ceil(logs.length / logsPerChunk)));
        logs.forEach((expected, index) => {
          const chunk = chunks[Math.floor(index / logsPerChunk)];
          const decoded = chunk?.log(index % logsPerChunk);
          expect(decoded && withArrays(decoded)).toEqual(withArrays(expected));
          expect(chunk?.transactionHash(expected.transactionIndex)).toEqual(
            hashOf(expected.transactionIndex),
          );
          expect(chunk).toMatchObject({ ...times, logCount: logs.length });
        });
        expect(chunks[0]).toMatchObject(times);
      }),
      { seed, numRuns: 200 },
    );
  });

  it('survives damaged receipts', () => {
    const valid = fc.array(receipt, { maxLength: 4 }).map(encodeReceipts);
    fc.assert(
      fc.property(damaged(valid), (input) => {
        expectTyped(() => decodeReceipts(input));
        expectTyped(() => receiptHashAt(input, 3));
      }),
      { seed, numRuns: 2000 },
    );
  });

  it('survives damaged logs', () => {
    const valid = fc
      .array(log, { maxLength: 10 })
      .map(
        (logs) =>
          encodeLogChunks({ hash: new Uint8Array(32), timestamp: 1, timestampMs: 1_200 }, logs, hashOf)[0] ??
          new Uint8Array(0),
      );
    fc.assert(
      fc.property(damaged(valid), (input) => {
        expectTyped(() => {
          const chunk = new LogChunk(input);
          for (let index = 0; index < chunk.length; index++) chunk.log(index);
          chunk.transactionHash(0);
        });
      }),
      { seed, numRuns: 2000 },
    );
  });
});

function hashOf(transactionIndex: number): Buffer {
  return Buffer.alloc(32, transactionIndex % 256);
}

/** Views, buffers and arrays compare as plain byte lists. */
function withArrays(value: object): unknown {
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [
      name,
      entry instanceof Uint8Array ? [...entry] : listed(entry),
    ]),
  );
}

function listed(entry: unknown): unknown {
  return Array.isArray(entry) ? entry.map((item) => (item instanceof Uint8Array ? [...item] : item)) : entry;
}
