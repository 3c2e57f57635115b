import { describe, expect, it } from 'vitest';
import { parseAddress, parseBytes, parseHash, parseQuantity, parseUint64, toQuantity } from './parse.ts';

describe('parseQuantity', () => {
  it('takes minimal hex of any case', () => {
    expect(parseQuantity('0x0', 64, 'x')).toBe('0x0');
    expect(parseQuantity('0XfF', 64, 'x')).toBe('0xff');
    expect(parseQuantity(`0x${'f'.repeat(64)}`, 256, 'x')).toBe(`0x${'f'.repeat(64)}`);
  });

  it('takes an empty string for zero, as geth does', () => {
    expect(parseQuantity('', 256, 'x')).toBe('0x0');
  });

  it.each([
    ['1', 'x: hex string without 0x prefix'],
    ['0x', 'x: hex string "0x"'],
    ['0x01', 'x: hex number with leading zero digits'],
    ['0xg', 'x: invalid hex string'],
    ['0x10000000000000000', 'x: hex number > 64 bits'],
    [1, 'x: expected a string'],
    [null, 'x: expected a string'],
    [['0x1'], 'x: expected a string'],
  ])('refuses %j', (value, message) => {
    expect(() => parseQuantity(value, 64, 'x')).toThrow(message);
  });
});

describe('bytes', () => {
  it('takes whole bytes of any case and gives lower case', () => {
    expect(parseBytes('0xAb', 'x')).toBe('0xab');
    expect(parseBytes('0x', 'x')).toBe('0x');
    expect(parseBytes('', 'x')).toBe('0x');
  });

  it.each(['ab', '0xa', '0xzz', 5, {}])('refuses %j', (value) => {
    expect(() => parseBytes(value, 'x')).toThrow(/^x: /);
  });

  it('measures addresses and hashes', () => {
    expect(parseAddress(`0x${'Aa'.repeat(20)}`, 'x')).toBe(`0x${'aa'.repeat(20)}`);
    expect(() => parseAddress(`0x${'aa'.repeat(19)}`, 'x')).toThrow(
      'x: hex string has length 38, want 40 for 20 bytes',
    );
    expect(() => parseHash('0x', 'x')).toThrow('want 64');
  });
});

describe('parseUint64', () => {
  it('reads to the last bit, and refuses an empty string', () => {
    expect(parseUint64('0xffffffffffffffff', 'x')).toBe(2n ** 64n - 1n);
    expect(() => parseUint64('', 'x')).toThrow('x: empty hex string');
  });
});

it('toQuantity writes minimal hex', () => {
  expect([toQuantity(0), toQuantity(255), toQuantity(2n ** 70n)]).toEqual([
    '0x0',
    '0xff',
    '0x400000000000000000',
  ]);
});
