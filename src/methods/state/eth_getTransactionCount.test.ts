import { describe, expect, it } from 'vitest';
import { runMethod, testServices } from '../../../test/support/serve/methods.ts';
import { ethGetTransactionCount } from './eth_getTransactionCount.ts';

const ADDRESS = `0x${'Ab'.repeat(20)}`;

/** In the fake state every nonce is the number of the block. */
describe('eth_getTransactionCount (A9)', () => {
  it.each([
    [[ADDRESS], '0x4'],
    [[ADDRESS, 'pending'], '0x4'],
    [[ADDRESS, '0x2'], '0x2'],
    [[ADDRESS, { blockNumber: 'earliest' }], '0x0'],
  ])('%j', async (params, nonce) => {
    expect(await runMethod(ethGetTransactionCount, params)).toBe(nonce);
  });

  it('does not guess', async () => {
    await expect(runMethod(ethGetTransactionCount, [ADDRESS, '0x5'])).rejects.toMatchObject({
      type: { code: 'BLOCK_NOT_FOUND', block: '0x5' },
    });
    await expect(runMethod(ethGetTransactionCount, ['0x12'])).rejects.toThrow('invalid argument 0');
  });

  it('counts what waits in pools, where that is wanted', async () => {
    const pool = (json: string) => ({
      poolNonce: true,
      services: { ...testServices, passOn: async () => ({ kind: 'result', json }) as const },
    });
    const ask = (block: string, json: string): Promise<unknown> =>
      runMethod(ethGetTransactionCount, [ADDRESS, block], { settings: pool(json) });
    expect(await ask('pending', '"0x9"')).toBe('0x9');
    expect(await ask('pending', '"0x1"')).toBe('0x4');
    expect(await ask('latest', '"0x9"')).toBe('0x4');
  });
});
