import { describe, expect, it } from 'vitest';
import { runMethod } from '../../../test/support/serve/methods.ts';
import type { CallResult } from '../../executor/interface.ts';
import type { Method } from '../method.ts';
import { ethCreateAccessList } from './eth_createAccessList.ts';
import { ethEstimateGas } from './eth_estimateGas.ts';

const TO = `0x${'ab'.repeat(20)}`;

/** What the executor is asked, for given parameters. */
async function asked(method: Method, params: readonly unknown[]): Promise<readonly unknown[]> {
  let seen: readonly unknown[] = [];
  await runMethod(method, params, {
    call: (request, _, query) => {
      seen = [query, request];
      return { kind: 'success', output: '"0x5208"' as `0x${string}` };
    },
  });
  return seen;
}

const answer = (result: CallResult): Promise<unknown> =>
  runMethod(ethEstimateGas, [{ to: TO }], { call: () => result });

describe('eth_estimateGas (B12)', () => {
  it('asks with no gas where none is given, and never with more than the cap', async () => {
    expect(await asked(ethEstimateGas, [{ to: TO }])).toEqual([
      { estimate: 50_000_000 },
      { to: TO, gas: '0x0' },
    ]);
    const [, request] = await asked(ethEstimateGas, [{ to: TO, gas: '0xffffffff' }, 'latest', {}, {}]);
    expect(request).toMatchObject({ gas: '0x2faf080', stateOverrides: {}, blockOverrides: {} });
  });

  it('needs no `to`: it is asked before a contract is created', async () => {
    expect((await asked(ethEstimateGas, [{ data: '0x00' }]))[1]).toEqual({ data: '0x00', gas: '0x0' });
  });

  it('gives a quantity', async () => {
    expect(await answer({ kind: 'success', output: '"0x5208"' as `0x${string}` })).toBe('0x5208');
  });

  it.each([
    [
      { kind: 'revert', output: '0x01' },
      { code: 'CALL_REVERTED', data: '0x01' },
    ],
    [
      { kind: 'invalid', message: 'gas required exceeds allowance (7)' },
      { code: 'CALL_FAILED', reason: 'gas required exceeds allowance (7)' },
    ],
    [{ kind: 'native', address: '0x01' }, { code: 'NATIVE_CONTRACT' }],
    [{ kind: 'timeout' }, { code: 'TIME_LIMIT' }],
    [{ kind: 'overloaded' }, { code: 'OVERLOADED' }],
  ] as const)('fails as a call does: %j', async (result, type) => {
    await expect(answer(result)).rejects.toMatchObject({ type });
  });
});

describe('eth_createAccessList (B12)', () => {
  it('runs with all of the gas', async () => {
    expect(await asked(ethCreateAccessList, [{ to: TO }, 'latest', { [TO]: { nonce: '0x1' } }])).toEqual([
      'accessList',
      { to: TO, gas: '0x2faf080', stateOverrides: { [TO]: { nonce: '0x1' } } },
    ]);
  });
});
