import { describe, expect, it } from 'vitest';
import { FakeChain } from '../../test/support/serve/head.ts';
import { runMethod, testServices } from '../../test/support/serve/methods.ts';
import type { PassedAnswer, PassedRequest } from '../chain/pass-on.ts';
import { ZERO_HASH } from '../primitives/hex.ts';
import { checkParamCount } from './method.ts';
import { passedOn } from './passed-on.ts';
import { createMethods } from './registry.ts';

function run(answer: PassedAnswer, asked: PassedRequest[] = []): Promise<unknown> {
  const passOn = async (request: PassedRequest): Promise<PassedAnswer> => {
    asked.push(request);
    return answer;
  };
  const settings = { services: { ...testServices, passOn } };
  return runMethod(passedOn('txpool_status'), ['a', { b: 1 }], { settings });
}

it('passes parameters on as they are, and gives back what the upstream says', async () => {
  const asked: PassedRequest[] = [];
  expect(await run({ kind: 'result', json: '{"pending":"0x1"}' }, asked)).toEqual({ pending: '0x1' });
  expect(asked).toEqual([{ kind: 'request', method: 'txpool_status', params: ['a', { b: 1 }] }]);
  expect(() => checkParamCount(passedOn('x'), [1, 2, 3])).not.toThrow();
});

it('gives back an error, too', async () => {
  await expect(run({ kind: 'error', code: -32_601, message: 'no', data: '1' })).rejects.toMatchObject({
    type: { code: 'UPSTREAM_ERROR', number: -32_601, message: 'no', data: '1' },
  });
});

it('is never a method that is served here, but for those that look for a hash', () => {
  expect(createMethods('1', [], ['txpool_status']).has('txpool_status')).toBe(true);
  expect(() => createMethods('1', [], ['eth_call'])).toThrow('--forward: eth_call is served here');
  expect(createMethods('1', [], ['eth_getBlockByHash']).has('eth_getBlockByHash')).toBe(true);
});

describe('a hash that is not held (B2)', () => {
  const hash = `0x${'12'.repeat(32)}`;

  /** Blocks 2 to 4 are held. What is asked of a method, and of whom. */
  async function look(name: string, params: readonly unknown[], found: unknown) {
    const asked: PassedRequest[] = [];
    const passOn = async (request: PassedRequest): Promise<PassedAnswer> => {
      asked.push(request);
      return { kind: 'result', json: JSON.stringify(found) };
    };
    const method = createMethods('1', [], [name]).get(name);
    if (method === undefined) throw new Error(name);
    const chain = new FakeChain().add(0).add(1).add(2).add(3).add(4);
    chain.mark({ lowest: chain.ref(2) });
    const settings = { services: { ...testServices, passOn } };
    return { answer: await runMethod(method, params, { chain, settings }), asked: asked.length };
  }

  it('is asked of an upstream: a transaction of before all that is held', async () => {
    const name = 'eth_getTransactionReceipt';
    const old = { blockNumber: '0x1' };
    expect(await look(name, [hash], old)).toEqual({ answer: old, asked: 1 });
    // It would be held, or is only in a pool, or in a block that comes later.
    for (const found of [{ blockNumber: '0x2' }, { blockNumber: null }, { blockNumber: '0x9' }, null]) {
      expect(await look(name, [hash], found)).toEqual({ answer: null, asked: 1 });
    }
  });

  it('is asked of an upstream: a block, up to the head', async () => {
    for (const found of [{ number: '0x1' }, { number: '0x3' }]) {
      expect(await look('eth_getBlockByHash', [hash, false], found)).toEqual({ answer: found, asked: 1 });
    }
    expect(await look('eth_getBlockByHash', [hash, false], { number: '0x5' })).toMatchObject({
      answer: null,
    });
    expect(await look('eth_getBlockTransactionCountByHash', [hash], '0x7')).toEqual({
      ...{ answer: '0x7', asked: 1 },
    });
    const receipts = [{ blockNumber: '0x1' }];
    expect(await look('eth_getBlockReceipts', [{ blockHash: hash }], receipts)).toEqual({
      ...{ answer: receipts, asked: 1 },
    });
  });

  it('is not asked of anybody where it is zero, or no hash, or held', async () => {
    expect(await look('eth_getBlockByHash', [ZERO_HASH, false], {})).toEqual({ answer: null, asked: 0 });
    expect(await look('eth_getBlockReceipts', ['0x99'], [])).toEqual({ answer: null, asked: 0 });
    expect(await look('eth_getBlockReceipts', ['0x3'], [])).toMatchObject({ asked: 0 });
  });
});
