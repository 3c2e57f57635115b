import { describe, expect, it } from 'vitest';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { runMethod, testFacts, testServices, testSettings } from '../../../test/support/serve/methods.ts';
import { FeeReader } from '../../head/fees.ts';
import type { NodeServices } from '../method.ts';
import { ethBaseFee } from './eth_baseFee.ts';
import { ethBlobBaseFee } from './eth_blobBaseFee.ts';
import { ethFeeHistory } from './eth_feeHistory.ts';
import { ethGasPrice } from './eth_gasPrice.ts';
import { ethMaxPriorityFeePerGas } from './eth_maxPriorityFeePerGas.ts';

// Each transaction of the test's chain pays 7 wei a unit of gas; block n has n of them and a base fee of n.

describe('eth_maxPriorityFeePerGas', () => {
  it('is a percentile of the lowest tips of late', async () => {
    // Tips: three of 3 (block 4), three of 4, two of 5, one of 6.
    expect(await runMethod(ethMaxPriorityFeePerGas, [])).toBe('0x4');
  });

  it('is the least where nobody tips', async () => {
    const settings = { services: { ...testServices, fees: new FeeReader(testFacts) } };
    const chain = new FakeChain().add(0).add(0);
    expect(await runMethod(ethMaxPriorityFeePerGas, [], { chain, settings })).toBe('0xf4240');
  });

  it('is the least on a chain with one builder, unless the last block was full', async () => {
    const facts = { ...testFacts, isOpStack: true };
    const services: NodeServices = { ...testServices, facts, fees: new FeeReader(facts) };
    expect(await runMethod(ethMaxPriorityFeePerGas, [], { settings: { services } })).toBe('0xf4240');
    const full = {
      ...facts,
      fees: (header: Uint8Array) => ({ ...testFacts.fees(header), gasLimit: 84_000, baseFee: -(10n ** 8n) }),
    };
    const ofFull = { ...services, facts: full, fees: new FeeReader(full) };
    expect(await runMethod(ethMaxPriorityFeePerGas, [], { settings: { services: ofFull } })).toBe(
      `0x${(((10n ** 8n + 7n) * 11n) / 10n).toString(16)}`,
    );
  });
});

describe('fees of the head', () => {
  it('are its own, and those of the next block', async () => {
    expect(await runMethod(ethGasPrice, [])).toBe('0x8');
    expect(await runMethod(ethBaseFee, [])).toBe('0x5');
    expect(await runMethod(ethBlobBaseFee, [])).toBe('0x1');
  });
});

describe('eth_feeHistory', () => {
  it('lists fees, and tips by the gas of their transactions', async () => {
    expect(await runMethod(ethFeeHistory, ['0x2', 'latest', [0, 50, 100]])).toEqual({
      oldestBlock: '0x3',
      reward: [
        ['0x4', '0x4', '0x4'],
        ['0x3', '0x3', '0x3'],
      ],
      baseFeePerGas: ['0x3', '0x4', '0x5'],
      gasUsedRatio: [0.3, 0.4],
      baseFeePerBlobGas: ['0x1', '0x1', '0x2'],
      blobGasUsedRatio: [0.375, 0.5],
    });
  });

  it('has no more blocks than there are or may be', async () => {
    const all = { oldestBlock: '0x0', gasUsedRatio: [0, 0.1, 0.2, 0.3, 0.4] };
    expect(await runMethod(ethFeeHistory, [2_000, 'pending'])).toMatchObject(all);
    const few = { settings: { ...testSettings, maxFeeHistoryBlocks: 2 } };
    expect(await runMethod(ethFeeHistory, ['9', 'latest', []], few)).toMatchObject({ oldestBlock: '0x3' });
    expect(await runMethod(ethFeeHistory, ['0x0', 'latest', []])).toEqual({
      oldestBlock: '0x0',
      gasUsedRatio: null,
    });
  });

  it.each([
    [['0x1', '0x9', []], 'request beyond head block: requested 9, head 4'],
    [['0x1', 'latest', [101]], 'invalid reward percentile: 101.000000'],
    [['0x1', 'latest', [50, 50]], 'invalid reward percentile: #0:50.000000 >= #1:50.000000'],
    [['0x1', 'latest', Array(101).fill(1)], 'invalid reward percentile: over the query limit 100'],
  ])('refuses %j in the words of geth', async (params, reason) => {
    await expect(runMethod(ethFeeHistory, params)).rejects.toMatchObject({
      type: { code: 'CALL_FAILED', reason },
    });
  });

  it.each([
    [[-1, 'latest', []]],
    [['0x', 'latest', []]],
    [['0x10000000000000000', 'latest', []]],
    [[1.5, 'latest', []]],
    [['0x1', 7, []]],
    [['0x1', 'latest', ['5']]],
    [['0x1', 'latest', 5]],
  ])('refuses params %j', async (params) => {
    await expect(runMethod(ethFeeHistory, params)).rejects.toMatchObject({
      type: { code: 'INVALID_PARAMS' },
    });
  });
});
