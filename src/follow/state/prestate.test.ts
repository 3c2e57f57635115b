import { expect, it } from 'vitest';
import { keyText } from '../../chain/state-key.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import { readPrestate } from './prestate.ts';

const addressOf = (byte: string): Hex => `0x${byte.repeat(20)}`;
const [SENDER, MINER, TOKEN, NOBODY] = [addressOf('11'), addressOf('22'), addressOf('33'), addressOf('44')];
const L1_FEE_VAULT: Hex = '0x420000000000000000000000000000000000001a';
const SLOT: Hex = `0x${'0'.repeat(63)}1`;

type Transaction = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Which of them are told by the traces of two transactions. */
function told(transactions: readonly Transaction[]): Readonly<Record<string, boolean>> {
  const found = readPrestate(transactions, 'upstream');
  const isTold = (address: string): boolean =>
    found.has(keyText({ kind: 'account', address: fromHex(address) }));
  const slot = { kind: 'slot', address: fromHex(TOKEN), slot: fromHex(SLOT) } as const;
  return {
    sender: isTold(SENDER),
    miner: isTold(MINER),
    token: isTold(TOKEN),
    vault: isTold(L1_FEE_VAULT),
    slot: found.has(keyText(slot)),
  };
}

const first = { [SENDER]: { balance: '0x5', nonce: 3 } };
const second = {
  [SENDER]: { balance: '0x4', nonce: 4 },
  [MINER]: { balance: '0x5208' },
  [TOKEN]: { balance: '0x0', nonce: 1, code: '0x6001', storage: { [SLOT]: SLOT } },
  [L1_FEE_VAULT]: { balance: '0x7' },
};

it('does not take what a later transaction finds for what was before the block, where empty accounts are left out', () => {
  expect(told([first, second])).toEqual({
    sender: true,
    ...{ miner: false, token: false, vault: false, slot: false },
  });
});

it('takes it where they are listed, but for what all transactions pay to', () => {
  const empty = { [NOBODY]: { balance: '0x0' }, [MINER]: { balance: '0x0' } };
  expect(told([{ ...first, ...empty }, second])).toEqual({
    ...{ sender: true, miner: true, token: true, slot: true },
    vault: false,
  });
});

it('takes slots that a later transaction finds in an account that was there before', () => {
  const token = { [TOKEN]: { balance: '0x0', nonce: 1, code: '0x6001' } };
  expect(told([{ ...first, ...token }, second])).toMatchObject({ token: true, slot: true });
});
