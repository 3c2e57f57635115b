import { toRlp } from 'viem';
import { expect, it } from 'vitest';
import { fromHex, type Hex } from '../primitives/hex.ts';
import { isSameButStateRoots } from './header.ts';

const word = (byte: string): Hex => `0x${byte.repeat(32)}`;
/** Fields of every length that RLP tells apart: the bloom has more than 255 bytes, the number is one byte, the nonce empty. */
const parts: readonly (readonly Hex[])[] = [
  [word('01'), word('02'), `0x${'03'.repeat(20)}`, word('04'), word('05'), word('06')],
  [`0x${'07'.repeat(256)}`, '0x', '0x7f', '0x80', '0x5208', '0x6543', `0x${'08'.repeat(60)}`],
  [word('09'), `0x${'00'.repeat(8)}`, '0x07', word('0a'), '0x', '0x', word('0b'), word('0c')],
];
const fields = parts.flat();
const encode = (change: Readonly<Record<number, Hex>> = {}): Uint8Array =>
  fromHex(toRlp(fields.map((field, at) => change[at] ?? field)));

it('tells headers apart by every field but the roots of state and withdrawals', () => {
  expect(isSameButStateRoots(encode(), encode())).toBe(true);
  expect(isSameButStateRoots(encode(), encode({ 3: word('00'), 16: word('00') }))).toBe(true);
  for (const at of fields.keys()) {
    if (at !== 3 && at !== 16) expect(isSameButStateRoots(encode(), encode({ [at]: '0x11' }))).toBe(false);
  }
  const shorter = fromHex(toRlp(fields.slice(0, -1)));
  expect(isSameButStateRoots(encode(), shorter)).toBe(false);
  expect(isSameButStateRoots(shorter, encode())).toBe(false);
});
