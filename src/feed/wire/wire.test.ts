import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CodecError } from '../../chain/byte-codec.ts';
import type { Log } from '../../chain/log.ts';
import { type Receipt, type ReceiptExtra, receiptExtra } from '../../chain/receipt.ts';
import { toHex } from '../../primitives/hex.ts';
import type { FeedItem, SentRemovedBlock } from '../interface.ts';
import { approximateBytes, decodeItem, encodeItem } from './item-codec.ts';
import { linkOf, moveOf } from './links.ts';
import { decodePart, encodeMessages, joinPieces } from './message.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const LIMIT = 1 << 20;

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const some = fc.uint8Array({ maxLength: 60 });
const hash = bytes(32).map(toHex);
const natural = fc.oneof(fc.nat(), fc.maxSafeNat());
const text = fc.string({ unit: 'binary', maxLength: 20 });
const optional = <T>(item: fc.Arbitrary<T>) => fc.option(item, { nil: undefined });
const list = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 });
/** Compressible or not, short or long. */
const outcomeBytes = fc.oneof(
  some,
  fc.tuple(some, fc.nat(200)).map(([part, times]) => Buffer.concat(Array(times).fill(part))),
);

const receipt: fc.Arbitrary<Receipt> = fc.record({
  transactionHash: bytes(32),
  type: fc.nat(255),
  from: bytes(20),
  to: optional(bytes(20)),
  contractAddress: optional(bytes(20)),
  status: fc.constantFrom(undefined, 0, 1),
  root: optional(bytes(32)),
  gasUsed: fc.nat(),
  cumulativeGasUsed: natural,
  effectiveGasPrice: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  bloom: bytes(256),
  logCount: fc.nat(5000),
  extras: list(
    fc.tuple(
      fc.constantFrom(...(Object.keys(receiptExtra) as ReceiptExtra[])),
      fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    ),
  ),
});

const log: fc.Arbitrary<Log> = fc.record({
  transactionIndex: natural,
  address: bytes(20),
  topics: fc.array(bytes(32), { maxLength: 4 }),
  data: some,
});

const removed: fc.Arbitrary<SentRemovedBlock> = fc.record({
  number: natural,
  hash,
  parentHash: hash,
  timestamp: natural,
  timestampMs: optional(natural),
  receipts: list(receipt),
  logs: list(log),
  diffBytes: outcomeBytes,
});

const item: fc.Arbitrary<FeedItem> = fc.oneof(
  fc.record({
    kind: fc.constant('preconfirmed' as const),
    version: natural,
    payloadId: text,
    index: natural,
    firstTransaction: natural,
    firstLog: natural,
    outcome: outcomeBytes,
  }),
  fc.record({
    kind: fc.constant('confirmed' as const),
    removed: list(removed),
    added: list(fc.record({ number: natural, hash, outcome: outcomeBytes })),
  }),
  fc.record({
    kind: fc.constant('dropped' as const),
    from: natural,
    reason: text,
    version: optional(natural),
  }),
  fc.constant({ kind: 'marked' as const }),
  fc.constant({ kind: 'anchored' as const }),
);
const position = fc.record({
  epoch: natural,
  sequence: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
});
const partBytes = fc.integer({ min: 64, max: 2_000 });

/** Cut, lengthened, overwritten in places, with a long varint somewhere, or all random. */
function damaged(valid: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  const edited = (whole: Uint8Array, edit: (copy: Uint8Array) => void): Uint8Array => {
    const copy = Uint8Array.from(whole);
    edit(copy);
    return copy;
  };
  return fc.oneof(
    fc.uint8Array({ maxLength: 500 }),
    fc.tuple(valid, fc.nat()).map(([whole, at]) => whole.subarray(0, at % (whole.length + 1))),
    fc.tuple(valid, some).map(([whole, more]) => Buffer.concat([whole, more])),
    fc
      .tuple(valid, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 }))
      .map(([whole, edits]) =>
        edited(whole, (copy) => {
          for (const [at, value] of edits) if (copy.length > 0) copy[at % copy.length] = value;
        }),
      ),
    fc
      .tuple(valid, fc.nat())
      .map(([whole, at]) =>
        edited(whole, (copy) => copy.fill(0xff, at % (copy.length + 1), (at % (copy.length + 1)) + 6)),
      ),
  );
}

function expectValueOrCodecError(decode: () => object): void {
  try {
    expect(typeof decode()).toBe('object');
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
  }
}

describe(`the wire form of the feed (TEST_SEED=${seed})`, () => {
  it('gives items back as they were', () => {
    fc.assert(
      fc.property(item, (value) => {
        expect(plain(decodeItem(encodeItem(value)))).toEqual(plain(value));
      }),
      { seed, numRuns: 500 },
    );
  });

  it('gives the bytes of an item back from parts within the limit', () => {
    fc.assert(
      fc.property(item.map(encodeItem), position, partBytes, (whole, place, limit) => {
        const messages = encodeMessages(place, whole, limit);
        const parts = messages.map(decodePart);
        for (const message of messages) expect(message.length).toBeLessThanOrEqual(limit);
        parts.forEach((part, index) => {
          expect(part).toMatchObject({ ...place, part: index, parts: parts.length });
        });
        const pieces = parts.map(({ piece }) => piece);
        const joined = joinPieces(pieces, parts[0]?.compressed === true, LIMIT);
        expect(Buffer.from(joined).equals(whole)).toBe(true);
      }),
      { seed, numRuns: 500 },
    );
  });

  it('compresses what gets smaller by it, also beyond the window of the compressor', () => {
    const large = Buffer.alloc(20 << 20, 'twenty MiB, again and again; ');
    const [only, ...others] = encodeMessages({ epoch: 1, sequence: 1 }, large, 1 << 19).map(decodePart);
    if (only === undefined) throw new Error('no message');
    expect(others).toEqual([]);
    expect(only.compressed).toBe(true);
    expect(Buffer.from(joinPieces([only.piece], true, 20 << 20)).equals(large)).toBe(true);
    expect(() => joinPieces([only.piece], true, (20 << 20) - 1)).toThrow('the limit is');
    const marked = encodeItem({ kind: 'marked' });
    expect(encodeMessages({ epoch: 1, sequence: 1 }, marked, 1 << 19)[0]).toHaveLength(9);
  });

  it('gives a value or a CodecError for any bytes', () => {
    const runs = { seed, numRuns: 3000 };
    fc.assert(
      fc.property(damaged(item.map(encodeItem)), (input) => expectValueOrCodecError(() => decodeItem(input))),
      runs,
    );
    const messages = fc
      .tuple(item, position, partBytes)
      .map(([value, place, limit]) => encodeMessages(place, encodeItem(value), limit)[0] ?? new Uint8Array());
    fc.assert(
      fc.property(damaged(messages), (input) => expectValueOrCodecError(() => decodePart(input))),
      runs,
    );
    const bodies = item.map((value) => {
      const [message = new Uint8Array()] = encodeMessages(
        { epoch: 1, sequence: 1 },
        encodeItem(value),
        LIMIT,
      );
      return decodePart(message).piece;
    });
    fc.assert(
      fc.property(damaged(bodies), fc.boolean(), (input, compressed) =>
        expectValueOrCodecError(() => joinPieces([input], compressed, LIMIT)),
      ),
      runs,
    );
  });

  it('notices any byte of a message that was changed', () => {
    fc.assert(
      fc.property(item.map(encodeItem), fc.nat(), fc.integer({ min: 1, max: 255 }), (whole, at, bits) => {
        const [message = new Uint8Array()] = encodeMessages({ epoch: 7, sequence: 9 }, whole, LIMIT);
        const index = at % message.length;
        message[index] = (message[index] ?? 0) ^ bits;
        expect(() => decodePart(message)).toThrow(CodecError);
      }),
      { seed },
    );
  });

  it('allocates nothing for a length that the bytes cannot hold', () => {
    const [message = new Uint8Array()] = encodeMessages(
      { epoch: 1, sequence: 1 },
      Buffer.alloc(1_000),
      LIMIT,
    );
    const frame = decodePart(message).piece.subarray(2);
    // A promise of 512 MiB, kept by nobody.
    const promise = Buffer.concat([Buffer.from([0x80, 0x80, 0x80, 0x80, 2]), frame]);
    const largest = Buffer.alloc(8, 0xff);
    const before = process.memoryUsage();
    expect(() => joinPieces([promise], true, 1 << 30)).toThrow('instead of');
    for (const tag of [1, 2, 3]) {
      expect(() => decodeItem(Buffer.from([tag, 0, ...largest, 1]))).toThrow(CodecError);
      expect(() => decodeItem(Buffer.from([tag, 0xff, 0xff, 0xff, 0x7f]))).toThrow(CodecError);
    }
    const after = process.memoryUsage();
    expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(2 ** 24);
  });

  it('refuses text that is not UTF-8, unknown kinds and flags that mean nothing', () => {
    expect(() => decodeItem(Buffer.from([3, 1, 1, 0xff, 0]))).toThrow('not UTF-8');
    expect(() => decodeItem(Buffer.from([3, 1, 0, 2]))).toThrow('optional number');
    expect(() => decodeItem(Buffer.from([9]))).toThrow('unknown kind 9');
    expect(() => decodeItem(Buffer.from([4, 0]))).toThrow('left over');
    expect(() => encodeMessages({ epoch: 1, sequence: 1 }, Buffer.alloc(9), 30)).toThrow(RangeError);
  });

  it('counts nearly what an item takes, before it is encoded', () => {
    fc.assert(
      fc.property(item, (value) => {
        expect(encodeItem(value).length).toBeLessThan(approximateBytes(value) + 2_000);
      }),
      { seed },
    );
  });
});

describe('the links of a move', () => {
  const outcome = (number: number, own: number, parent: number): Uint8Array => {
    const head = Buffer.alloc(72);
    head.writeBigUInt64LE(BigInt(number));
    return head.fill(own, 8, 40).fill(parent, 40);
  };
  const named = (byte: number) => toHex(Buffer.alloc(32, byte));

  it('are read from the first bytes of the outcomes', () => {
    const added = [5, 6].map((number) => ({
      number,
      hash: named(number),
      outcome: outcome(number, number, number - 1),
    }));
    expect(moveOf({ kind: 'confirmed', removed: [], added }).added).toEqual([
      { number: 5, hash: named(5), parentHash: named(4) },
      { number: 6, hash: named(6), parentHash: named(5) },
    ]);
  });

  it('are refused where an outcome is of another block, or cut', () => {
    const added = [{ number: 5, hash: named(5), outcome: outcome(5, 6, 4) }];
    expect(() => moveOf({ kind: 'confirmed', removed: [], added })).toThrow('of another block');
    expect(() => linkOf(outcome(5, 5, 4).subarray(1))).toThrow(CodecError);
    expect(() => linkOf(Buffer.alloc(72, 0xff))).toThrow('too large');
  });
});

/** The same value with all byte strings of one class. */
function plain<T>(value: T): T {
  if (value instanceof Uint8Array) return Buffer.from(value) as never;
  if (Array.isArray(value)) return value.map(plain) as never;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, plain(entry)])) as never;
}
