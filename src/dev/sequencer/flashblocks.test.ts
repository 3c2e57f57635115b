import { expect, it } from 'vitest';
import { blockOf } from '../../../test/support/serve/dev.ts';
import { decodeFlashblock } from '../../source/flashblocks/decode.ts';
import { FlashblockCutter } from './flashblocks.ts';

it('cuts a growing block into what is new, with the results of the whole', () => {
  const cutter = new FlashblockCutter();
  const [first, second, third] = [['0x01'], ['0x01'], ['0x01', '0x02', '0x03']] as const;
  const messages = [first, second, third].map((transactions) => cutter.cut(blockOf(1, transactions)));
  expect(messages.map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(messages.map(({ base }) => base !== undefined)).toEqual([true, false, false]);
  expect(messages.map(({ diff }) => diff['transactions'])).toEqual([['0x01'], [], ['0x02', '0x03']]);
  expect(messages.map(({ diff }) => diff['gas_used'])).toEqual(['0x1', '0x1', '0x3']);
  expect(new Set(messages.map(({ payload_id }) => payload_id)).size).toBe(1);
});

it('starts over with the next block', () => {
  const cutter = new FlashblockCutter();
  const one = cutter.cut(blockOf(1, ['0x01']));
  const next = cutter.cut(blockOf(2, ['0x01', '0x02']));
  expect(next).toMatchObject({ index: 0, metadata: { block_number: 2 } });
  expect(next.diff['transactions']).toEqual(['0x01', '0x02']);
  expect(next.payload_id).not.toBe(one.payload_id);
});

it('starts over when what was published is not in the block any more', () => {
  const cutter = new FlashblockCutter();
  const one = cutter.cut(blockOf(1, ['0x01', '0x02']));
  const rebuilt = cutter.cut(blockOf(1, ['0x01', '0x03', '0x02']));
  expect(rebuilt.index).toBe(0);
  expect(rebuilt.payload_id).not.toBe(one.payload_id);
  expect(rebuilt.diff['transactions']).toEqual(['0x01', '0x03', '0x02']);
});

it('writes what our own reader takes', () => {
  const cutter = new FlashblockCutter();
  for (const transactions of [['0x7e01'], ['0x7e01', '0x0202']] as const) {
    const text = JSON.stringify(cutter.cut(blockOf(1, transactions)));
    expect(decodeFlashblock(text, { maxMessageBytes: 2 ** 20, maxTextBytes: 2 ** 20 }).ok).toBe(true);
  }
});
