import { describe, expect, it } from 'vitest';
import { FakeChain } from '../../test/support/serve/head.ts';
import { runMethod, testServices } from '../../test/support/serve/methods.ts';
import type { PassedAnswer, PassedRequest } from '../chain/pass-on.ts';
import type { ForwardCall } from '../executor/interface.ts';
import { ethCall } from './calls/eth_call.ts';
import { ethCreateAccessList } from './calls/eth_createAccessList.ts';
import { ethEstimateGas } from './calls/eth_estimateGas.ts';
import { ethSimulateV1 } from './calls/eth_simulateV1.ts';
import { debugTraceCall } from './debug/debug_trace.ts';
import type { Method } from './method.ts';
import { ethGetStorageAt } from './state/eth_getStorageAt.ts';
import { ethGetTransactionCount } from './state/eth_getTransactionCount.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;
/** EIP-4788: written at the start of each block, by no transaction. */
const BEACON_ROOTS = '0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02';

/** Blocks 0 to 4, of which the rules of 3 and 4 are not known. */
function chain(): FakeChain {
  const fake = new FakeChain().add(0).add(1).add(2).add(3).add(4);
  return fake.mark({ byDiffs: fake.ref(3) });
}

describe('a block whose rules are not known here (B16, B17)', () => {
  const call = { to: ADDRESS, gas: '0x5208' };
  const ask = async (
    method: Method,
    params: readonly unknown[],
  ): Promise<{ answer: unknown; sent: readonly unknown[] }> => {
    const sent: unknown[] = [];
    const forward: ForwardCall = async (request, hash) => {
      sent.push([request, Number(hash)]);
      return { kind: 'success', output: '0x07' };
    };
    const options = { chain: chain(), forward, call: () => ({ kind: 'success', output: '0x01' }) as const };
    return { answer: await runMethod(method, params, options), sent };
  };

  it('has calls forwarded from it on, by its hash', async () => {
    expect(await ask(ethCall, [call, '0x2'])).toEqual({ answer: '0x01', sent: [] });
    for (const number of [3, 4]) {
      const { answer, sent } = await ask(ethCall, [call, `0x${number}`]);
      expect({ answer, sent }).toEqual({ answer: '0x07', sent: [[expect.objectContaining(call), number]] });
    }
  });

  it('has nonces and storage from its diffs, but for what blocks write outside of transactions', async () => {
    const address = BEACON_ROOTS.toLowerCase();
    const slot = `0x${'0'.repeat(63)}1`;
    expect(await ask(ethGetStorageAt, [ADDRESS, '0x1', '0x3'])).toEqual({ answer: slot, sent: [] });
    expect(await ask(ethGetTransactionCount, [ADDRESS, '0x3'])).toEqual({ answer: '0x3', sent: [] });
    expect(await ask(ethGetStorageAt, [BEACON_ROOTS, '0x1', '0x2'])).toEqual({ answer: slot, sent: [] });
    const { sent } = await ask(ethGetStorageAt, [BEACON_ROOTS, '0x1', '0x3']);
    expect(sent).toEqual([[{ read: 'slot', address, slot }, 3]]);
    const nonce = await ask(ethGetTransactionCount, [BEACON_ROOTS, 'latest']);
    expect(nonce).toEqual({ answer: '0x07', sent: [[{ read: 'nonce', address }, 4]] });
  });

  it('has estimates, access lists, simulations and traces passed on, by its hash (B12)', async () => {
    const blockHash = chain().ref(4).hash;
    const simulation = { blockStateCalls: [{ calls: [call] }] };
    for (const [method, params, passed] of [
      [ethEstimateGas, [call], [call, { blockHash }]],
      [ethCreateAccessList, [call, '0x4'], [call, { blockHash }]],
      [ethSimulateV1, [simulation, 'latest'], [simulation, { blockHash }]],
      [debugTraceCall, [call, 'latest', {}], [call, { blockHash }, {}]],
    ] as const) {
      const asked: PassedRequest[] = [];
      const answers: PassedAnswer[] = [
        { kind: 'result', json: '"theirs"' },
        { kind: 'error', code: 3, message: 'execution reverted: no', data: '"0x08"' },
        { kind: 'error', code: -38_014, message: 'insufficient funds' },
      ];
      const passOn = async (request: PassedRequest): Promise<PassedAnswer> => {
        const answer = answers[asked.push(request) - 1];
        if (answer === undefined) throw new Error('asked too often');
        return answer;
      };
      const options = {
        ...{ chain: chain(), settings: { services: { ...testServices, passOn } } },
        forward: async () => ({ kind: 'success', output: '0x' }) as const,
      };
      expect(await runMethod(method, params, options)).toBe('theirs');
      await expect(runMethod(method, params, options)).rejects.toMatchObject({
        type: { code: 'CALL_REVERTED', data: '0x08' },
      });
      await expect(runMethod(method, params, options)).rejects.toMatchObject({
        type: { code: 'UPSTREAM_ERROR', number: -38_014, message: 'insufficient funds' },
      });
      expect(asked[0]).toEqual({ kind: 'request', method: method.name, params: passed });
      await expect(runMethod(method, params, { ...options, forward: undefined })).rejects.toMatchObject({
        type: { code: 'UNKNOWN_RULES', block: 4 },
      });
    }
  });

  it('is refused where nothing is forwarded', async () => {
    const refused = { type: { code: 'UNKNOWN_RULES', block: 4 } };
    for (const [method, params] of [
      [ethCall, [call]],
      [ethGetStorageAt, [BEACON_ROOTS, '0x1']],
    ] as const) {
      await expect(async () => runMethod(method, params, { chain: chain() })).rejects.toMatchObject(refused);
    }
  });
});
