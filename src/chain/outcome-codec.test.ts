import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encode } from '../../test/support/native-layout.ts';
import { toHex } from '../primitives/hex.ts';
import { CodecError } from './byte-codec.ts';
import type { StateDiff } from './diff.ts';
import { encodeDiff } from './diff-codec.ts';
import type { Log } from './log.ts';
import type { Outcome } from './outcome.ts';
import { decodeDiff, decodeOutcome, encodeOutcome } from './outcome-codec.ts';
import { type Receipt, type ReceiptExtra, receiptExtra } from './receipt.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const some = fc.uint8Array({ maxLength: 60 });
const quantity = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const list = <T>(item: fc.Arbitrary<T>, maxLength = 4) => fc.array(item, { maxLength });
const optional = <T>(item: fc.Arbitrary<T>) => fc.option(item, { nil: undefined });

const receipt: fc.Arbitrary<Receipt> = fc
  .record({
    transactionHash: bytes(32),
    type: fc.nat(255),
    from: bytes(20),
    to: optional(bytes(20)),
    contractAddress: optional(bytes(20)),
    root: optional(bytes(32)),
    succeeded: fc.nat(1),
    gasUsed: fc.maxSafeNat(),
    cumulativeGasUsed: fc.maxSafeNat(),
    effectiveGasPrice: quantity,
    bloom: bytes(256),
    logCount: fc.nat(2 ** 32 - 1),
    extras: list(fc.tuple(fc.constantFrom(...(Object.keys(receiptExtra) as ReceiptExtra[])), quantity)),
  })
  .map(({ succeeded, ...rest }) => ({ ...rest, status: rest.root === undefined ? succeeded : undefined }));

const log: fc.Arbitrary<Log> = fc.record({
  transactionIndex: fc.nat(2 ** 32 - 1),
  address: bytes(20),
  topics: list(bytes(32)),
  data: some,
});

const diff: fc.Arbitrary<StateDiff> = fc.record({
  wiped: list(bytes(20)),
  accounts: list(fc.tuple(bytes(20), some)),
  slots: list(fc.tuple(bytes(20), bytes(32), some)),
  codes: list(fc.tuple(bytes(32), some)),
});

const outcome: fc.Arbitrary<Outcome> = fc
  .record({
    number: fc.maxSafeNat(),
    hash: bytes(32).map(toHex),
    parentHash: bytes(32).map(toHex),
    timestamp: fc.maxSafeNat(),
    timestampMs: fc.option(fc.integer({ min: 1, max: 2 ** 45 }), { nil: undefined }),
    header: some,
    block: some,
    receipts: list(receipt, 3),
    logs: list(log),
    diff,
  })
  .map((fields) => ({ ...fields, diffBytes: encodeDiff(fields.diff) }));

/** Cut, lengthened, overwritten in places, or with a count or length of the largest number. */
function damaged(valid: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  return fc.oneof(
    fc.uint8Array({ maxLength: 500 }),
    fc.tuple(valid, fc.nat()).map(([whole, at]) => whole.subarray(0, at % (whole.length + 1))),
    fc.tuple(valid, some).map(([whole, more]) => Buffer.concat([whole, more])),
    fc
      .tuple(valid, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 }))
      .map(([whole, edits]) => {
        const copy = Uint8Array.from(whole);
        for (const [at, value] of edits) if (copy.length > 0) copy[at % copy.length] = value;
        return copy;
      }),
    fc.tuple(valid, fc.nat()).map(([whole, at]) => {
      const copy = Uint8Array.from(whole);
      copy.fill(0xff, at % (copy.length + 1), (at % (copy.length + 1)) + 4);
      return copy;
    }),
  );
}

function expectValueOrDecodeError(decode: (bytes: Uint8Array) => object, input: Uint8Array): void {
  try {
    expect(typeof decode(input)).toBe('object');
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
  }
}

/** All of an outcome, read now. */
function readAll(input: Uint8Array): object {
  return { ...decodeOutcome(input) };
}

describe(`outcomes of the native core (TEST_SEED=${seed})`, () => {
  it('reads what is written', () => {
    fc.assert(
      fc.property(outcome, (value) => {
        const whole = encodeOutcome(value);
        const { encoded, ...read } = decodeOutcome(whole);
        expect(read).toEqual(plain(value));
        expect(encoded).toBe(whole);
      }),
      { seed },
    );
  });

  it('reads each part once, when somebody asks for it', () => {
    const [value] = fc.sample(outcome, { numRuns: 1, seed });
    if (value === undefined) throw new Error('no sample');
    const whole = encodeOutcome(value);
    const read = decodeOutcome(whole);
    expect(read.diff).toBe(read.diff);
    expect(read.receipts).toBe(read.receipts);
    expect(read.logs).toBe(read.logs);
    // Who does not look at the diff does not notice that it is spoiled.
    const at = read.diffBytes.byteOffset - whole.byteOffset;
    const spoiled = Buffer.from(whole).fill(0xff, at, at + read.diffBytes.length);
    const broken = decodeOutcome(spoiled);
    expect(broken.hash).toBe(read.hash);
    expect(() => broken.diff).toThrow(CodecError);
  });

  it('reads bytes that lie inside a larger buffer', () => {
    fc.assert(
      fc.property(outcome, some, (value, before) => {
        const inside = Buffer.concat([before, encodeOutcome(value), before]);
        const part = inside.subarray(before.length, inside.length - before.length);
        const { encoded: _, ...read } = decodeOutcome(part);
        expect(read).toEqual(plain(value));
      }),
      { seed, numRuns: 30 },
    );
  });

  it('gives a value or a CodecError for any bytes', () => {
    fc.assert(
      fc.property(damaged(outcome.map(encodeOutcome)), (input) => expectValueOrDecodeError(readAll, input)),
      { seed, numRuns: 2000 },
    );
    fc.assert(
      fc.property(damaged(diff.map(encodeDiff)), (input) => expectValueOrDecodeError(decodeDiff, input)),
      { seed, numRuns: 2000 },
    );
  });

  it('allocates nothing for a count that the bytes cannot hold', () => {
    const largest = Buffer.alloc(4, 0xff);
    const noDiff = Buffer.alloc(16);
    const head = Buffer.alloc(8 + 32 + 32 + 8 + 8 + 4 + 4);
    const inputs = [
      // As the length of the header, and as the count of receipts and of logs.
      Buffer.concat([head.subarray(0, 88), largest]),
      Buffer.concat([head, encode((out) => out.bytes(noDiff)), largest]),
      Buffer.concat([head, encode((out) => out.bytes(noDiff)), Buffer.alloc(4), largest]),
    ];
    const before = process.memoryUsage();
    for (const input of inputs) expect(() => readAll(input)).toThrow(CodecError);
    for (let lists = 0; lists < 4; lists++) {
      expect(() => decodeDiff(Buffer.concat([Buffer.alloc(4 * lists), largest]))).toThrow(CodecError);
    }
    const after = process.memoryUsage();
    expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(2 ** 25);
  });

  it('refuses what it would have to round or does not know', () => {
    const number = Buffer.alloc(100, 0xff);
    expect(() => decodeOutcome(number)).toThrow('number too large');
    const wide = encode((out) => {
      out.raw(Buffer.alloc(32 + 1 + 1 + 20 + 8 + 8));
      out.bytes(Buffer.alloc(33, 1));
    });
    const one = Buffer.from([1, 0, 0, 0]);
    const head = [Buffer.alloc(96), encode((out) => out.bytes(Buffer.alloc(16)))];
    expect(() => readAll(Buffer.concat([...head, one, wide]))).toThrow('wider than 256 bits');
    const extra = encode((out) => {
      out.raw(Buffer.alloc(32 + 1 + 1 + 20 + 8 + 8 + 4 + 256 + 4));
      out.raw(Buffer.concat([one, Buffer.from([99])]));
    });
    expect(() => readAll(Buffer.concat([...head, one, extra]))).toThrow('unknown receipt field 99');
  });
});

/** The same value with all byte strings of one class. */
function plain<T>(value: T): T {
  if (value instanceof Uint8Array) return Buffer.from(value) as never;
  if (Array.isArray(value)) return value.map(plain) as never;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, plain(entry)])) as never;
}
