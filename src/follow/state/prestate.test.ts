import { expect, it } from 'vitest';
import { keyText } from '../../chain/state-key.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import { readPrestate } from './prestate.ts';

const [SENDER, MINER, TOKEN, NOBODY]: readonly Hex[] = ['11', '22', '33', '44'].map(
  (byte): Hex => `0x${byte.repeat(20)}`,
);
const L1_FEE_VAULT = '0x420000000000000000000000000000000000001a';
const SLOT: Hex = `0x${'0'.repeat(63)}1`;

type Transaction = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Which of them are told by the traces of two transactions. */
function told(transactions: readonly Transaction[]): Readonly<Record<string, boolean>> {
  const found = readPrestate(transactions, 'upstream');
  const isTold = (address: string): boolean =>
    found.has(keyText({ kind: 'account', address: fromHex(address) }));
  const slot = { kind: 'slot', address: fromHex(TOKEN as Hex), slot: fromHex(SLOT) } as const;
  return {
    sender: isTold(SENDER as Hex),
    miner: isTold(MINER as Hex),
    token: isTold(TOKEN as Hex),
    vault: isTold(L1_FEE_VAULT),
    slot: found.has(keyText(slot)),
  };
}

const first = { [SENDER as Hex]: { balance: '0x5', nonce: 3 } };
const second = {
  [SENDER as Hex]: { balance: '0x4', nonce: 4 },
  [MINER as Hex]: { balance: '0x5208' },
  [TOKEN as Hex]: { balance: '0x0', nonce: 1, code: '0x6001', storage: { [SLOT]: SLOT } },
  [L1_FEE_VAULT]: { balance: '0x7' },
};

it('does not take what a later transaction finds for what was before the block, where empty accounts are left out', () => {
  expect(told([first, second])).toEqual({
    sender: true,
    ...{ miner: false, token: false, vault: false, slot: false },
  });
});

it('takes it where they are listed, but for what all transactions pay to', () => {
  const empty = { [NOBODY as Hex]: { balance: '0x0' }, [MINER as Hex]: { balance: '0x0' } };
  expect(told([{ ...first, ...empty }, second])).toEqual({
    ...{ sender: true, miner: true, token: true, slot: true },
    vault: false,
  });
});

it('takes slots that a later transaction finds in an account that was there before', () => {
  const token = { [TOKEN as Hex]: { balance: '0x0', nonce: 1, code: '0x6001' } };
  expect(told([{ ...first, ...token }, second])).toMatchObject({ token: true, slot: true });
});
