import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../primitives/hex.ts';
import type { StateRead } from '../interface.ts';
import { toStored } from './stored-form.ts';

// Any 32-byte hash does: the real one is the native core's, and is passed in.
const hash = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest();
const account = (nonce: bigint, balance: bigint, code = '0x'): StateRead => ({
  kind: 'account',
  account: { nonce, balance, code: fromHex(code) },
  upstream: 'a',
});
const digits = (code = '0x'): string => toHex(hash(fromHex(code))).slice(2);
const stored = (read: StateRead): string => toHex(toStored(read, hash).value ?? new Uint8Array());

describe('toStored', () => {
  it('has nothing for an account that does not exist', () => {
    expect(stored(account(0n, 0n))).toBe('0x');
  });

  it.each<[string, StateRead, string]>([
    ['zeros as empty strings', account(0n, 1n), `0xe38001a0${digits()}`],
    ['small numbers as themselves', account(127n, 0n), `0xe37f80a0${digits()}`],
    ['larger ones with their length', account(128n, 0x0400n), `0xe68180820400a0${digits()}`],
    [
      'lists over 55 bytes',
      account(1n, 2n ** 256n - 1n, '0x60'),
      `0xf84301a0${'ff'.repeat(32)}a0${digits('0x60')}`,
    ],
  ])('writes %s', (_, read, expected) => {
    expect(stored(read)).toBe(expected);
  });

  it('gives the code along with its hash', () => {
    const { code } = toStored(account(1n, 0n, '0x6001'), hash);
    expect(code).toEqual({ hash: hash(fromHex('0x6001')), bytes: fromHex('0x6001') });
    expect(toStored(account(1n, 0n), hash).code).toBeUndefined();
  });

  it('drops the leading zeros of a slot', () => {
    const slot = (last: string): StateRead => ({
      kind: 'slot',
      value: fromHex(`0x${last.padStart(64, '0')}`),
      upstream: 'a',
    });
    expect(stored(slot(''))).toBe('0x');
    expect(stored(slot('0100'))).toBe('0x0100');
  });
});
