import { describe, expect, it } from 'vitest';
import { runMethod } from '../../../test/support/serve/methods.ts';
import type { CallResult } from '../../executor/interface.ts';
import type { MethodSettings } from '../method.ts';
import { ethSimulateV1 } from './eth_simulateV1.ts';

const TO = `0x${'Ab'.repeat(20)}`;
const to = TO.toLowerCase();
const WORD = `0x${'00'.repeat(31)}01`;

/** What the executor is asked, for given parameters. */
async function asked(payload: unknown, settings: Partial<MethodSettings> = {}): Promise<unknown> {
  const blocks = (await runMethod(ethSimulateV1, [payload, '0x2'], {
    settings,
    call: () => ({ kind: 'success', output: '0x' }),
  })) as readonly unknown[];
  return blocks[0];
}

const one = (block: unknown): unknown => ({ blockStateCalls: [block] });

describe('what is simulated', () => {
  it('is normalised, and has the limits of the listener', async () => {
    const payload = {
      blockStateCalls: [
        {
          blockOverrides: { number: '0x9', withdrawals: [], beaconRoot: WORD, time: null },
          stateOverrides: { [TO]: { movePrecompileToAddress: TO, stateDiff: { [WORD]: WORD } } },
          calls: [{ to: TO, input: '0xFF', nonce: '0x1' }, { gas: '0xffffffffffffffff' }, {}],
        },
        { calls: null, stateOverrides: null },
      ],
      validation: true,
      unknown: 1,
    };
    expect(await asked(payload)).toEqual({
      blocks: [
        {
          blockOverrides: { number: '0x9', withdrawals: [], beaconRoot: WORD },
          stateOverrides: { [to]: { movePrecompileToAddress: to, stateDiff: { [WORD]: WORD } } },
          calls: [{ to, data: '0xff', nonce: '0x1' }, { gas: '0xffffffffffffffff' }, {}],
        },
        {},
      ],
      traceTransfers: false,
      validation: true,
      returnFullTransactions: false,
      blockTime: 2,
      limits: { blocks: 256, gas: 50_000_000, bytes: 10 << 20 },
    });
  });

  it.each([
    [{}, 'empty input'],
    [{ blockStateCalls: [] }, 'empty input'],
    [{ blockStateCalls: {} }, 'blockStateCalls: expected an array'],
    [{ blockStateCalls: [1] }, 'blockStateCalls[0]: expected an object'],
    [{ blockStateCalls: [{}], validation: 1 }, 'validation: expected a boolean'],
    [one({ calls: [1] }), 'calls: expected an object'],
    [one({ calls: [{ gas: '1' }] }), 'gas: hex string without 0x prefix'],
    [one({ calls: [{ nonce: 1 }] }), 'nonce: expected a string'],
    [one({ blockOverrides: { timestamp: '0x1' } }), 'block override "timestamp" is not supported'],
    [one({ blockOverrides: { withdrawals: [{}] } }), 'withdrawals[0]: index: expected a string'],
    [one({ stateOverrides: { [TO]: { unknown: 1 } } }), 'state override "unknown" is not supported'],
    [one({ stateOverrides: { [TO]: { movePrecompileToAddress: 1 } } }), 'expected a string'],
  ])('is refused: %j', async (payload, message) => {
    await expect(asked(payload)).rejects.toThrow(message);
  });

  it('is bounded by blocks and by calls', async () => {
    const simulation = { maxBlocks: 2, maxCalls: 3, gas: 1, maxResponseBytes: 1, timeLimitMs: 1 };
    const refused = { type: { code: 'SIMULATION_REFUSED', rpcCode: -38_026 } };
    await expect(asked({ blockStateCalls: [{}, {}, {}] }, { simulation })).rejects.toMatchObject(refused);
    const calls = [{ to: TO }, { to: TO }];
    await expect(asked({ blockStateCalls: [{ calls }, { calls }] }, { simulation })).rejects.toMatchObject(
      refused,
    );
    await expect(asked({ blockStateCalls: [{ calls }, {}] }, { simulation })).resolves.toBeDefined();
  });
});

describe('how a simulation ends', () => {
  const ends = (result: CallResult): Promise<unknown> =>
    runMethod(ethSimulateV1, [one({})], { call: () => result });

  it.each([
    [
      { kind: 'halt', message: 'why' },
      { code: 'SIMULATION_REFUSED', rpcCode: -38_014, reason: 'why' },
    ],
    [
      { kind: 'native', address: '0x01' },
      { code: 'NATIVE_CONTRACT', address: '0x01', isPending: false },
    ],
    [{ kind: 'timeout' }, { code: 'TIME_LIMIT', what: 'simulation', milliseconds: 5_000 }],
    [{ kind: 'cancelled' }, { code: 'CANCELLED' }],
    [{ kind: 'overloaded' }, { code: 'OVERLOADED' }],
  ] as const)('with %j', async (result, type) => {
    await expect(ends(result)).rejects.toMatchObject({ type });
  });

  it('on a block that is not there, in the words of the contract or of the standard (B5, B13)', async () => {
    const ask = (settings: Partial<MethodSettings>): Promise<unknown> =>
      runMethod(ethSimulateV1, [one({}), '0x99'], { settings });
    await expect(ask({})).rejects.toMatchObject({ type: { code: 'BLOCK_NOT_FOUND' } });
    await expect(ask({ compat: true })).rejects.toMatchObject({
      type: { code: 'SIMULATION_REFUSED', rpcCode: -32_000, reason: 'header not found' },
    });
  });
});
