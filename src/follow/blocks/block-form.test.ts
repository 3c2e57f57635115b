import { expect, it } from 'vitest';
import { InvalidBlockError } from '../../executor/errors.ts';
import type { JsonObject } from '../../source/interface.ts';
import { unknownForm } from './block-form.ts';
import { BlockReader } from './reader.ts';
import { RefusedBlockError } from './refused-block.ts';

const hash = `0x${'1'.repeat(64)}` as const;
const plain: JsonObject = { number: '0x5', hash, parentHash: hash, transactions: [{ type: '0x2' }] };

/** A reader for which no block fits its hash. */
function readerOf(block: JsonObject) {
  const reported: string[] = [];
  const reader = new BlockReader({
    source: {
      blockByHash: async () => (reported.length === 0 ? { value: block, upstream: 'a' } : undefined),
      blockByNumber: async () => undefined,
      receipts: async () => ({ value: [], upstream: 'a' }),
      report: (upstream) => void reported.push(upstream),
    },
    executor: {
      blockFromJson: () => {
        throw new InvalidBlockError('header: hash');
      },
      outcomeFromJson: () => {
        throw new Error('not asked for');
      },
    },
    unknownForm,
  });
  return { reader, reported };
}

it('takes a block that does not fit its hash for a lie', async () => {
  const { reader, reported } = readerOf(plain);
  await expect(reader.byHash(hash)).rejects.toThrow('no upstream has');
  expect(reported).toEqual(['a']);
});

it.each([
  ['a field of its header', { ...plain, blockAccessListHash: hash }, /blockAccessListHash/],
  ['a transaction', { ...plain, transactions: [{ type: '0x2' }, { type: '0x9' }] }, /type .* 9/],
])('but not one with %s that is not known here (B16)', async (_, block, words) => {
  const { reader, reported } = readerOf(block);
  const failure = reader.byHash(hash);
  await expect(failure).rejects.toThrow(RefusedBlockError);
  await expect(failure).rejects.toThrow(words);
  expect(reported).toEqual([]);
});
