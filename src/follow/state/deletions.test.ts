import { expect, it } from 'vitest';
import type { AccountState } from '../../source/interface.ts';
import { settleDeletions } from './deletions.ts';

const A = `0x${'aa'.repeat(20)}` as const;
const B = `0x${'bb'.repeat(20)}` as const;
const GONE: AccountState = { nonce: 0n, balance: 0n, code: new Uint8Array() };
const done = { status: '0x1' };

const never = (): Promise<never> => Promise.reject(new Error('nobody has to be asked'));

it('believes that an account is gone which is not there after the block', async () => {
  const diffs = [
    { pre: { [A]: { balance: '0x1' }, [B]: { balance: '0x1' } }, post: { [B]: { balance: '0x2' } } },
  ];
  expect(await settleDeletions(diffs, [done], () => Promise.resolve(GONE))).toEqual(diffs);
});

it('takes what is there after the block for what became of an account that was not deleted', async () => {
  const diffs = [{ pre: { [A]: { balance: '0x1' } }, post: {} }];
  const left: AccountState = { nonce: 1n, balance: 255n, code: Uint8Array.of(0xef) };
  const [settled] = await settleDeletions(diffs, [done], () => Promise.resolve(left));
  expect(settled).toEqual({ ...diffs[0], post: { [A]: { nonce: 1, balance: '0xff', code: '0xef' } } });
});

it('takes what a later transaction found, before anybody is asked', async () => {
  const first = { pre: { [A]: { balance: '0x1' } }, post: {} };
  const second = { pre: { [A]: { balance: '0x1', nonce: 3 } }, post: { [A]: { balance: '0x2' } } };
  const [settled] = await settleDeletions([first, second], [done, done], never);
  expect(settled?.post).toEqual({ [A]: { balance: '0x1', nonce: 3 } });
  const anew = { pre: {}, post: { [A]: { balance: '0x2' } } };
  expect(await settleDeletions([first, anew], [done, done], never)).toEqual([first, anew]);
});

it('knows that a transaction that failed deleted nothing', async () => {
  const diffs = [
    { pre: { [A]: { balance: '0x1' }, [B]: { balance: '0x2' } }, post: { [B]: { balance: '0x1' } } },
  ];
  const settled = await settleDeletions(diffs, [{ status: '0x0' }], never);
  expect(settled).toEqual([{ pre: { [B]: { balance: '0x2' } }, post: { [B]: { balance: '0x1' } } }]);
});
