import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashOf } from '../../../../test/support/source/flashblocks.ts';
import { encoded, wholeBlock } from '../../../../test/support/source/whole-blocks.ts';
import { toHex } from '../../../primitives/hex.ts';
import { decodeFlashblock } from '../decode.ts';
import type { Flashblock } from '../flashblock.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS } from '../options.ts';
import { WholeBlockCutter } from './cutter.ts';
import { readWholeBlock } from './whole-block.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);
const staleMs = 1_000;

/** A cutter, with what it gives for blocks with transactions of these names. */
function cutting() {
  const cutter = new WholeBlockCutter('one', (list) => list.map(encoded), staleMs);
  let at = 0;
  const see = (
    number: number,
    names: string,
    change: Readonly<Record<string, unknown>> = {},
    waitMs = 1,
  ): Flashblock | undefined => {
    at += waitMs;
    return cutter.cut(readWholeBlock(wholeBlock(number, names.split(''), change)), at);
  };
  return { cutter, see };
}

const textsOf = (flashblock: Flashblock | undefined): readonly string[] | undefined =>
  flashblock?.diff.transactions.map((bytes) => Buffer.from(bytes).toString('utf8', 1));

describe('WholeBlockCutter', () => {
  it('gives each growth the next index, with what is new, and nothing for what it had', () => {
    const { see } = cutting();
    const first = see(7, 'ab');
    expect(first).toMatchObject({ blockNumber: 7, index: 0, base: { gasLimit: 60_000_000n } });
    expect(textsOf(first)).toEqual(['a', 'b']);
    expect(see(7, 'ab')).toBeUndefined();
    const second = see(7, 'abcd');
    expect(second).toMatchObject({ index: 1, payloadId: first?.payloadId, base: undefined });
    expect(textsOf(second)).toEqual(['c', 'd']);
    // From a server that is late.
    expect(see(7, 'abc')).toBeUndefined();
    expect(see(7, 'abcde')).toMatchObject({ index: 2, diff: { gasUsed: 105_000n } });
  });

  it.each([
    ['other transactions', 'ax', {}],
    ['another parent', 'abc', { parentHash: hashOf('other') }],
    ['another randao', 'abc', { mixHash: hashOf('other') }],
  ])('takes %s for another attempt', (_, names, change) => {
    const { see } = cutting();
    const first = see(7, 'ab');
    const second = see(7, names, change);
    expect(second).toMatchObject({ index: 0, base: {} });
    expect(second?.payloadId).not.toBe(first?.payloadId);
    expect(textsOf(second)).toEqual(names.split(''));
  });

  it('goes back to a lower block only when nothing above it came for a while', () => {
    const { see } = cutting();
    see(7, 'a');
    expect(see(6, 'x')).toBeUndefined();
    expect(see(7, 'a')).toBeUndefined();
    expect(see(6, 'x', {}, staleMs)).toMatchObject({ blockNumber: 6, index: 0 });
  });

  it('begins anew when it is told to', () => {
    const { cutter, see } = cutting();
    const first = see(7, 'ab');
    cutter.reset();
    const second = see(7, 'abc');
    expect(second).toMatchObject({ index: 0 });
    expect(second?.payloadId).not.toBe(first?.payloadId);
  });

  it('tries a block again whose transactions were not what they say', () => {
    let isFalse = true;
    const cutter = new WholeBlockCutter(
      'one',
      (list) => {
        if (isFalse) throw new Error('another hash');
        return list.map(encoded);
      },
      staleMs,
    );
    const block = readWholeBlock(wholeBlock(7, ['a']));
    expect(() => cutter.cut(block, 0)).toThrow('another hash');
    isFalse = false;
    expect(cutter.cut(block, 1)).toMatchObject({ index: 0 });
  });

  it('writes what raw streams write', () => {
    const { see } = cutting();
    const limits = DEFAULT_FLASHBLOCK_OPTIONS.stream;
    for (const flashblock of [see(7, 'ab'), see(7, 'abc')]) {
      const decoded = decodeFlashblock(flashblock?.text ?? '', limits);
      if (!decoded.ok) throw decoded.error;
      const { digest: _, ...read } = decoded.flashblock;
      expect(flashblock).toMatchObject(read);
    }
  });

  it.each([
    ['no hash', { hash: null }, { stateRoot: undefined, blockHash: undefined, withdrawalsRoot: undefined }],
    [
      'a zero root',
      { stateRoot: hashOf('').replace(/[^x]/g, '0') },
      { stateRoot: undefined, blockHash: undefined },
    ],
    ['no receipts root', { receiptsRoot: null }, { receiptsRoot: undefined, logsBloom: undefined }],
  ])('leaves out what is not known: %s', (_, change, expected) => {
    const { see } = cutting();
    const flashblock = see(7, 'a', change);
    expect(flashblock?.diff).toMatchObject(expected);
    const { diff } = JSON.parse(flashblock?.text ?? '') as { diff: Record<string, unknown> };
    expect('state_root' in diff).toBe(flashblock?.diff.stateRoot !== undefined);
    expect('receipts_root' in diff).toBe(flashblock?.diff.receiptsRoot !== undefined);
  });

  it(`gives back each block that it was shown, in order (TEST_SEED=${seed})`, () => {
    // Blocks that grow, are built again, shown late, repeated, or begin: what comes out, put together, is what was shown.
    const step = fc.record({
      number: fc.integer({ min: 1, max: 3 }),
      names: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 6 }).map((list) => list.join('')),
      waitMs: fc.constantFrom(1, staleMs),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const { see } = cutting();
        const ids = new Set<string>();
        let open: { readonly payloadId: string; readonly index: number; readonly names: string } | undefined;
        for (const { number, names, waitMs } of steps) {
          const flashblock = see(number, names, {}, waitMs);
          if (flashblock === undefined) continue;
          const { payloadId, index, base } = flashblock;
          const added = (textsOf(flashblock) ?? []).join('');
          expect(base !== undefined).toBe(index === 0);
          if (index === 0) {
            expect(ids.has(payloadId)).toBe(false);
            ids.add(payloadId);
          } else {
            expect({ payloadId, index: index - 1 }).toEqual({
              payloadId: open?.payloadId,
              index: open?.index,
            });
            expect(added).not.toBe('');
          }
          open = { payloadId, index, names: index === 0 ? added : `${open?.names}${added}` };
          expect(open.names).toBe(names);
        }
      }),
      { seed, numRuns: 300 },
    );
  });
});

describe('readWholeBlock', () => {
  const block = wholeBlock(7, ['a', 'b']);

  it.each([
    ['number', { number: '0x0' }],
    ['number', { number: 7 }],
    ['parentHash', { parentHash: null }],
    ['parentBeaconBlockRoot', { parentBeaconBlockRoot: undefined }],
    ['miner', { miner: null }],
    ['gasUsed', { gasUsed: '' }],
    ['withdrawals', { withdrawals: [{}] }],
    ['transactions[0]', { transactions: [hashOf('a')] }],
    ['transactions[0].hash', { transactions: [{}] }],
    ['logsBloom', { logsBloom: '0x00' }],
  ])('refuses a wrong %s: %j', (field, change) => {
    expect(() => readWholeBlock({ ...block, ...change })).toThrow(field);
  });

  it(`refuses in words whatever is no block (TEST_SEED=${seed})`, () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(block)), fc.jsonValue(), (field, value) => {
        try {
          const read = readWholeBlock({ ...block, [field]: value });
          expect(read.hashes).toHaveLength(read.transactions.length);
          expect(read.results.blockHash === undefined || read.results.stateRoot !== undefined).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ type: { code: 'INVALID_PARAMS' } });
        }
      }),
      { seed, numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(() => readWholeBlock(value)).toThrow(expect.objectContaining({ type: expect.anything() }));
      }),
      { seed },
    );
  });

  it('takes hashes in upper case for what they are', () => {
    const upper = readWholeBlock({
      ...block,
      parentHash: `0x${String(block['parentHash']).slice(2).toUpperCase()}`,
    });
    expect(upper.base.parentHash).toBe(block['parentHash']);
    expect(toHex(encoded({ name: 'a' }))).toBe('0x0261');
  });
});
