import { expect, it } from 'vitest';
import type { Hex } from '../../primitives/hex.ts';
import { decodeRevertReason } from './revert-reason.ts';

const word = (value: number): string => value.toString(16).padStart(64, '0');
const text = (value: string): string => Buffer.from(value).toString('hex');

it.each<[string, Hex, string | undefined]>([
  ['a reason without padding', `0x08c379a0${word(32)}${word(10)}${text('user error')}`, 'user error'],
  ['a padded reason', `0x08c379a0${word(32)}${word(2)}${text('no').padEnd(64, '0')}`, 'no'],
  ['an empty reason', `0x08c379a0${word(32)}${word(0)}`, ''],
  ['a panic', `0x4e487b71${word(0x11)}`, 'arithmetic underflow or overflow'],
  ['an unknown panic', `0x4e487b71${word(0x99)}`, 'unknown panic code: 0x99'],
  ['a length past the end', `0x08c379a0${word(32)}${word(11)}${text('user error')}`, undefined],
  ['an offset past the end', `0x08c379a0${word(9999)}${word(0)}`, undefined],
  ['a huge offset', `0x08c379a0${'f'.repeat(64)}${word(0)}`, undefined],
  ['a short panic', '0x4e487b7101', undefined],
  ['only a selector', '0x08c379a0', undefined],
  ['another error', `0xdeadbeef${word(1)}`, undefined],
  ['nothing', '0x', undefined],
])('decodes %s', (_name, data, reason) => {
  expect(decodeRevertReason(data)).toBe(reason);
});
