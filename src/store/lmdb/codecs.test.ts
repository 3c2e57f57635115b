import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CodecError } from '../../chain/byte-codec.ts';
import { bucketBlocks, decodePlaces, encodePlaces, maxLogsPerBlock, placeOf } from '../postings.ts';
import { decodeIndexes, encodeIndexes } from './logs/write-postings.ts';
import { decodeMarks, encodeMarks } from './meta.ts';
import { decodeUndo, encodeUndo } from './write/undo-codec.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

function ascending(max: number): fc.Arbitrary<number[]> {
  return fc.uniqueArray(fc.nat(max), { maxLength: 200 }).map((values) => values.toSorted((a, b) => a - b));
}

describe(`lmdb codecs (seed ${seed})`, () => {
  it('gives places and indexes back', () => {
    const places = fc.oneof(ascending(bucketBlocks * maxLogsPerBlock - 1), ascending(5000));
    fc.assert(
      fc.property(places, ascending(maxLogsPerBlock - 1), (list, indexes) => {
        const decoded: number[] = [];
        decodePlaces(encodePlaces(list), decoded);
        expect(decoded).toEqual(list);
        expect(decodeIndexes(encodeIndexes(indexes))).toEqual(indexes);
      }),
      { seed, numRuns: 300 },
    );
  });

  it('orders places as logs are ordered', () => {
    expect(placeOf(255, maxLogsPerBlock - 1)).toBe(2 ** 32 - 1);
    expect(placeOf(256, 0)).toBe(0);
    expect(placeOf(257, 0)).toBeGreaterThan(placeOf(256, maxLogsPerBlock - 1));
  });

  it('gives undo keys back', () => {
    const of = (length: number, fill: number): Uint8Array => Buffer.alloc(length, fill);
    const diff = {
      wiped: [of(20, 1)],
      accounts: [[of(20, 2), of(5, 9)]],
      slots: [[of(20, 3), of(32, 4), of(1, 9)]],
      codes: [],
    } as const;
    expect(decodeUndo(encodeUndo(diff, [of(32, 5)]))).toEqual({
      wiped: [of(20, 1)],
      accounts: [of(20, 2)],
      slots: [Buffer.concat([of(20, 3), of(32, 4)])],
      codes: [of(32, 5)],
    });
  });

  it('gives marks back', () => {
    const ref = (number: number) => ({ number, hash: `0x${'ab'.repeat(32)}` }) as const;
    const marks = { lowest: ref(0), anchor: ref(1), head: ref(2 ** 40), safe: ref(3), finalized: ref(2) };
    expect(decodeMarks(encodeMarks(marks))).toEqual(marks);
  });

  it('answers random bytes with a value or a typed error', () => {
    const decoders = [decodeUndo, decodeMarks, decodeIndexes, (bytes: Uint8Array) => decodePlaces(bytes, [])];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        for (const decode of decoders) {
          try {
            decode(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(CodecError);
          }
        }
      }),
      { seed, numRuns: 3000 },
    );
  });
});
