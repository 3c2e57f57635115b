import { describe, expect, it } from 'vitest';
import { runMethod } from '../../../test/support/serve/methods.ts';
import { ethGetStorageAt } from './eth_getStorageAt.ts';

const ADDRESS = `0x${'Ab'.repeat(20)}`;

/** The fake state holds, at every slot, the slot's own key. */
describe('eth_getStorageAt (A8)', () => {
  it.each(['0x1', '0x01', '1', '0X1', '01', `0x${'0'.repeat(63)}1`])(
    'takes the position %s',
    async (position) => {
      expect(await runMethod(ethGetStorageAt, [ADDRESS, position, 'latest'])).toBe(`0x${'0'.repeat(63)}1`);
    },
  );

  it('takes nothing for zero', async () => {
    expect(await runMethod(ethGetStorageAt, [ADDRESS, ''])).toBe(`0x${'0'.repeat(64)}`);
  });

  it.each([
    [`0x${'0'.repeat(65)}`, `storage key too long (want at most 32 bytes): "0x${'0'.repeat(65)}"`],
    ['0xasdf', 'invalid hex in storage key: "0xasdf"'],
    [1, 'invalid argument 1: expected a string'],
  ])('refuses %j', async (position, message) => {
    await expect(runMethod(ethGetStorageAt, [ADDRESS, position])).rejects.toThrow(message);
  });
});
