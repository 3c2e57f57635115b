import { expect, it } from 'vitest';
import type { Hex } from '../../primitives/hex.ts';
import { choose, type PooledTransaction, type TxPool } from './pool.ts';

const all = { baseFee: 10n, gas: 1_000_000n, isKnown: () => false, isRefused: () => false };
const one = (hash: Hex, fields: Partial<PooledTransaction> = {}): PooledTransaction => ({
  ...{ hash, gas: '0x5208', maxFeePerGas: '0xff' },
  ...fields,
});
const names = (pool: TxPool['pending'], room: Partial<typeof all> = {}): readonly string[] =>
  choose({ pending: pool }, { ...all, ...room }).map(({ hash }) => hash);

it('takes the transactions of a sender in order of nonce', () => {
  expect(names({ a: { 10: one('0x0a'), 9: one('0x09') }, b: { 0: one('0x0b') } })).toEqual([
    '0x09',
    '0x0a',
    '0x0b',
  ]);
});

it('stops at the first of a sender that does not fit, and goes on with others', () => {
  const cheap = { a: { 0: one('0x01', { maxFeePerGas: '0x9' }), 1: one('0x02') }, b: { 0: one('0x03') } };
  expect(names(cheap)).toEqual(['0x03']);
  const old = { a: { 0: { hash: '0x01', gas: '0x5208', gasPrice: '0xa' } } } as const;
  expect(names(old)).toEqual(['0x01']);
  const large = { a: { 0: one('0x01', { gas: '0xf4241' }), 1: one('0x02') }, b: { 0: one('0x03') } };
  expect(names(large)).toEqual(['0x03']);
  const refused = { a: { 0: one('0x01'), 1: one('0x02') } };
  expect(choose({ pending: refused }, { ...all, isRefused: (hash) => hash === '0x01' })).toEqual([]);
});

it('goes on after what is in the block already, as far as there is gas', () => {
  const pool = { a: { 0: one('0x01'), 1: one('0x02'), 2: one('0x03') } };
  const room = { ...all, gas: 21_000n, isKnown: (hash: Hex) => hash === '0x01' };
  expect(choose({ pending: pool }, room).map(({ hash }) => hash)).toEqual(['0x02']);
});
