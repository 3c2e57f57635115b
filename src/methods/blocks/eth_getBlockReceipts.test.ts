import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { runMethod } from '../../../test/support/serve/methods.ts';
import { ethGetBlockReceipts } from './eth_getBlockReceipts.ts';

const hashOf = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`;

describe('eth_getBlockReceipts', () => {
  it('serves receipts with their logs', async () => {
    const receipts = (await runMethod(ethGetBlockReceipts, ['latest'])) as Record<string, unknown>[];
    expect(receipts).toHaveLength(4);
    expect(receipts[2]).toMatchObject({
      transactionHash: hashOf(0x402),
      transactionIndex: '0x2',
      blockHash: hashOf(4),
      blockNumber: '0x4',
      contractAddress: null,
      cumulativeGasUsed: '0xf618',
      effectiveGasPrice: '0x7',
      gasUsed: '0x5208',
      status: '0x1',
      type: '0x2',
      logs: [{ logIndex: '0x2', blockTimestamp: '0x30', transactionHash: hashOf(0x402) }],
    });
  });

  it('finds a block by every kind of name', async () => {
    for (const selector of ['0x1', hashOf(1), { blockHash: hashOf(1) }, { blockNumber: '0x1' }]) {
      expect(await runMethod(ethGetBlockReceipts, [selector])).toHaveLength(1);
    }
    expect(await runMethod(ethGetBlockReceipts, ['earliest'])).toEqual([]);
  });

  it.each(['0x5', hashOf(5), '0x7fffffffffffffff'])('knows nothing of %s', async (selector) => {
    expect(await runMethod(ethGetBlockReceipts, [selector])).toBeNull();
  });

  it('gives others their turn while it renders a large block', async () => {
    const chain = new FakeChain().add(9_000);
    const progress = { done: false };
    let turns = 0;
    const answer = runMethod(ethGetBlockReceipts, ['0x0'], { chain }).finally(() => {
      progress.done = true;
    });
    for (; !progress.done; turns++) await nextTurn();
    expect(await answer).toHaveLength(9_000);
    expect(turns).toBeGreaterThan(4);
  });
});
