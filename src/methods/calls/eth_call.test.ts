import { describe, expect, it } from 'vitest';
import { runMethod } from '../../../test/support/serve/methods.ts';
import type { CallRequest, CallResult, ForwardCall } from '../../executor/interface.ts';
import type { MethodSettings } from '../method.ts';
import { ethCall } from './eth_call.ts';

const TO = `0x${'Ab'.repeat(20)}`;
const to = TO.toLowerCase();
const SLOT = `0x${'00'.repeat(31)}01`;

/** What the executor is asked, for given parameters. */
async function asked(
  params: readonly unknown[],
  settings: Partial<MethodSettings> = {},
): Promise<CallRequest> {
  let seen: CallRequest | undefined;
  await runMethod(ethCall, params, {
    settings,
    call: (request) => {
      seen = request;
      return { kind: 'success', output: '0x' };
    },
  });
  if (seen === undefined) throw new Error('not called');
  return seen;
}

const answer = (result: CallResult, settings: Partial<MethodSettings> = {}): Promise<unknown> =>
  runMethod(ethCall, [{ to: TO }], { settings, call: () => result });

describe('the call object (A6, B7)', () => {
  it('is normalised, and unknown fields are ignored', async () => {
    expect(
      await asked([{ to: TO, data: '0xFF', value: '0xA', type: '0x2', whatever: {}, from: null }]),
    ).toEqual({
      to,
      gas: '0x2faf080',
      value: '0xa',
      data: '0xff',
    });
  });

  it('has its gas clamped to the cap', async () => {
    expect((await asked([{ to: TO, gas: '0xffffffffffffffff' }])).gas).toBe('0x2faf080');
    expect((await asked([{ to: TO, gas: '0x5208' }])).gas).toBe('0x5208');
  });

  it('takes input and data for the same thing', async () => {
    expect((await asked([{ to: TO, input: '0x01' }])).data).toBe('0x01');
    expect((await asked([{ to: TO, input: '0xAA', data: '0xaa' }])).data).toBe('0xaa');
    await expect(asked([{ to: TO, input: '0x01', data: '0x02' }])).rejects.toThrow('not equal');
  });

  it('needs `to`, except where the standard does not', async () => {
    await expect(asked([{ data: '0x00' }])).rejects.toThrow('invalid argument 0: to: missing value');
    await expect(asked([{ to: null }])).rejects.toThrow('to: missing value');
    expect(await asked([{ data: '0x00' }], { compat: true })).toEqual({ gas: '0x2faf080', data: '0x00' });
  });

  it('takes lists', async () => {
    const accessList = [{ address: TO, storageKeys: [SLOT] }];
    const authorizationList = [
      { chainId: '0x1', address: TO, nonce: '0x0', yParity: '0x1', r: '0x2', s: '0x3' },
    ];
    expect(await asked([{ to: TO, accessList, authorizationList }])).toMatchObject({
      accessList: [{ address: to, storageKeys: [SLOT] }],
      authorizationList: [{ chainId: '0x1', address: to, nonce: '0x0', yParity: '0x1', r: '0x2', s: '0x3' }],
    });
  });

  it.each([
    [
      { gasPrice: '0x1', maxFeePerGas: '0x1' },
      'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified',
    ],
    [{ gasPrice: '0x1', maxPriorityFeePerGas: '0x1' }, 'both gasPrice and'],
    [{ chainId: '0x2' }, "chainId does not match node's (have=2, want=1)"],
    [{ value: '10' }, 'invalid argument 0: value: hex string without 0x prefix'],
    [{ gas: '0x10000000000000000' }, 'invalid argument 0: gas: hex number > 64 bits'],
    [{ nonce: 1 }, 'invalid argument 0: nonce: expected a string'],
    [{ data: '0x0' }, 'invalid argument 0: data: hex string of odd length'],
    [{ accessList: [{ address: TO }] }, 'accessList[0]: storageKeys: expected an array'],
    [{ accessList: {} }, 'accessList: expected an array'],
    [{ authorizationList: [{ address: TO }] }, 'authorizationList[0]: chainId: expected a string'],
    [{ blobVersionedHashes: ['0x01'] }, 'blobVersionedHashes[0]: hex string has length 2'],
  ])('refuses %j', async (fields, message) => {
    await expect(asked([{ to: TO, ...fields }])).rejects.toThrow(message);
  });
});

describe('overrides (B7)', () => {
  const call = (state: unknown, block?: unknown) => asked([{ to: TO }, 'latest', state, block]);

  it('of state are normalised', async () => {
    const overrides = {
      [TO]: { balance: '0x1', nonce: '0x2', code: '0xFE', state: {} },
      [`0x${'00'.repeat(20)}`]: { stateDiff: { [SLOT]: SLOT }, code: null },
    };
    expect((await call(overrides)).stateOverrides).toEqual({
      [to]: { balance: '0x1', nonce: '0x2', code: '0xfe', state: {} },
      [`0x${'00'.repeat(20)}`]: { stateDiff: { [SLOT]: SLOT } },
    });
  });

  it('of the block are normalised', async () => {
    const block = {
      number: '0x1',
      time: '0x2',
      gasLimit: '0x3',
      feeRecipient: TO,
      prevRandao: SLOT,
      baseFeePerGas: '0x4',
      blobBaseFee: '0x5',
      difficulty: '0x6',
    };
    expect((await call(null, block)).blockOverrides).toEqual({ ...block, feeRecipient: to });
  });

  it.each([
    [
      { [TO]: { movePrecompileToAddress: TO } },
      undefined,
      'state override "movePrecompileToAddress" is not supported',
    ],
    [{ [TO]: { unknown: 1 } }, undefined, 'state override "unknown" is not supported'],
    [{ [TO]: { state: {}, stateDiff: {} } }, undefined, "has both 'state' and 'stateDiff'"],
    [{ [TO]: { state: { '0x1': SLOT } } }, undefined, 'odd length'],
    [{ [TO]: 1 }, undefined, 'expected an object'],
    [{ '0x12': {} }, undefined, 'hex string has length 2'],
    [[], undefined, 'invalid argument 2: expected an object'],
    [undefined, { withdrawals: [] }, 'block override "withdrawals" is not supported for this RPC method'],
    [undefined, { timestamp: '0x1' }, 'block override "timestamp" is not supported'],
    [undefined, { __proto__: null, constructor: 1 }, 'block override "constructor" is not supported'],
    [undefined, 'x', 'invalid argument 3: expected an object'],
  ])('refuse %j %j', async (state, block, message) => {
    await expect(call(state, block)).rejects.toThrow(message);
  });
});

describe('how a call ends (A6, B13)', () => {
  const panic = `0x4e487b71${'00'.repeat(31)}01` as const;

  it('with bytes', async () => {
    expect(await answer({ kind: 'success', output: '0x1234' })).toBe('0x1234');
  });

  it('with a revert, plain or in the words of the standard', async () => {
    await expect(answer({ kind: 'revert', output: panic })).rejects.toMatchObject({
      type: { code: 'CALL_REVERTED', data: panic, standard: false },
    });
    await expect(answer({ kind: 'revert', output: panic }, { compat: true })).rejects.toMatchObject({
      type: { code: 'CALL_REVERTED', data: panic, standard: true, reason: 'assert(false)' },
    });
  });

  it.each([
    [
      { kind: 'halt', message: 'out of gas' },
      { code: 'CALL_FAILED', reason: 'out of gas' },
    ],
    [{ kind: 'timeout' }, { code: 'TIME_LIMIT', what: 'call', milliseconds: 5_000 }],
    [{ kind: 'cancelled' }, { code: 'CANCELLED' }],
    [{ kind: 'overloaded' }, { code: 'OVERLOADED' }],
  ] as const)('with %j', async (result, type) => {
    await expect(answer(result)).rejects.toMatchObject({ type });
  });
});

describe('a call that enters a native contract (B17)', () => {
  const native = { kind: 'native', address: to as `0x${string}` } as const;
  const ask = (forward?: ForwardCall): Promise<unknown> =>
    runMethod(ethCall, [{ to: TO, gas: '0x5208' }, '0x2'], {
      call: () => native,
      ...(forward !== undefined && { forward }),
    });

  it('is answered by an upstream at the hash of the same block', async () => {
    const seen: unknown[] = [];
    const forward: ForwardCall = async (request, hash) => {
      seen.push([request, Number(hash)]);
      return { kind: 'success', output: '0x07' };
    };
    expect(await ask(forward)).toBe('0x07');
    expect(seen).toEqual([[{ to, gas: '0x5208' }, 2]]);
  });

  it('fails as an upstream says that it fails', async () => {
    await expect(ask(async () => ({ kind: 'revert', output: '0x01' }))).rejects.toMatchObject({
      type: { code: 'CALL_REVERTED', data: '0x01' },
    });
    await expect(ask(async () => ({ kind: 'halt', message: 'out of gas' }))).rejects.toMatchObject({
      type: { code: 'CALL_FAILED', reason: 'out of gas' },
    });
  });

  it('is refused where nobody runs it', async () => {
    await expect(ask()).rejects.toMatchObject({
      type: { code: 'NATIVE_CONTRACT', address: to, isPending: false },
    });
  });
});
