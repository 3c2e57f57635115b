import { expect, it } from 'vitest';
import { HeadError } from '../../head/errors.ts';
import { MethodError } from '../../methods/errors.ts';
import { InvalidParamsError, StateUnavailableError } from '../../primitives/errors.ts';
import { isExpected, toRpcError } from './error-map.ts';

it.each([
  [new InvalidParamsError('why'), { code: -32602, message: 'why' }],
  [
    new HeadError({ code: 'BLOCK_NOT_FOUND', block: '0x5' }),
    { code: -32001, message: 'block not found: 0x5' },
  ],
  [
    new HeadError({ code: 'NOT_CANONICAL', hash: '0xab' }),
    { code: -32001, message: 'block not found: 0xab is not canonical' },
  ],
  [
    new HeadError({ code: 'BLOCK_NOT_FOUND', block: '0x1', lowest: '0x5' }),
    { code: -32001, message: 'block not found: 0x1: the lowest block held is 0x5' },
  ],
  [
    new HeadError({ code: 'STATE_NOT_HELD', block: '0x1', lowest: '0x5' }),
    { code: -32002, message: 'state of block 0x1 is not available: the lowest block with state is 0x5' },
  ],
  [
    new StateUnavailableError('below the anchor'),
    { code: -32002, message: 'resource unavailable: below the anchor' },
  ],
  [
    new MethodError({ code: 'CALL_REVERTED', data: '0x', standard: false }),
    { code: -32000, message: 'execution reverted', data: '0x' },
  ],
  [
    new MethodError({ code: 'CALL_REVERTED', data: '0x01', standard: true, reason: 'no' }),
    { code: 3, message: 'execution reverted: no', data: '0x01' },
  ],
  [new MethodError({ code: 'CALL_FAILED', reason: 'out of gas' }), { code: -32000, message: 'out of gas' }],
  [
    new MethodError({ code: 'TIME_LIMIT', what: 'call', milliseconds: 5_000 }),
    { code: -32000, message: 'call exceeded the time limit of 5 s' },
  ],
  [
    new MethodError({ code: 'FILTER_NOT_FOUND', reason: 'lost' }),
    { code: -32000, message: 'filter not found: lost' },
  ],
  [
    new MethodError({ code: 'NOT_AVAILABLE', method: 'eth_x' }),
    { code: -32601, message: 'the method eth_x does not exist/is not available' },
  ],
  [
    new MethodError({ code: 'UPSTREAM_ERROR', number: -32003, message: 'no', data: '{"a":1}' }),
    { code: -32003, message: 'no', data: Buffer.from('{"a":1}') },
  ],
  [
    new MethodError({ code: 'NOT_SEEN', hash: '0xab', milliseconds: 2_000 }),
    { code: 4, message: 'the transaction was sent, but there is no receipt after 2 s', data: '0xab' },
  ],
  [
    new MethodError({ code: 'NOT_READY', hash: '0xab', nonce: 7, next: 5 }),
    {
      code: 5,
      message: 'the transaction was sent, but is not ready: its nonce is 7, the next one of the account is 5',
      data: '0xab',
    },
  ],
  [new Error('secret'), { code: -32002, message: 'resource unavailable' }],
  ['not even an error', { code: -32002, message: 'resource unavailable' }],
])('%s', (error, expected) => {
  expect(toRpcError(error)).toEqual(expected);
});

it('only what the contract names is expected (B10)', () => {
  expect(isExpected(new InvalidParamsError('x'))).toBe(true);
  expect(isExpected(new TypeError('x'))).toBe(false);
});
