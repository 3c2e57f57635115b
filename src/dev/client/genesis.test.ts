import { fromRlp, parseTransaction, recoverTransactionAddress } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { expect, it } from 'vitest';
import { renderGuide } from '../guide.ts';
import { ACCOUNTS, CHAIN_ID, COUNTER, SIGNED_INCREMENT } from './genesis.ts';
import { DEPOSITOR, l1AttributesDeposit } from './l1-attributes.ts';

it('has keys that fit their accounts, and a transaction that the first one signed', async () => {
  for (const { address, key } of ACCOUNTS) expect(privateKeyToAddress(key)).toBe(address);
  const transaction = parseTransaction(SIGNED_INCREMENT);
  expect(transaction).toMatchObject({ chainId: CHAIN_ID, to: COUNTER.address, data: COUNTER.increment });
  const serializedTransaction = SIGNED_INCREMENT as `0x02${string}`;
  expect(await recoverTransactionAddress({ serializedTransaction })).toBe(ACCOUNTS[0].address);
});

it('encodes the L1 attributes as a deposit', () => {
  const deposit = l1AttributesDeposit(258, 0x6af97000);
  expect(deposit.slice(0, 4)).toBe('0x7e');
  const fields = fromRlp(`0x${deposit.slice(4)}`) as readonly string[];
  expect(fields.slice(1, 7)).toEqual([
    ...[DEPOSITOR, '0x4200000000000000000000000000000000000015'],
    ...['0x', '0x', '0x0f4240', '0x'],
  ]);
  expect(fields[7]).toMatch(/^0x3db6be2b0{32}000000006af970000000000000000102/);
  expect(fields[7]).toHaveLength(2 + 2 * 178);
});

it('fits its guide on a screen, with three lines to paste', () => {
  const guide = renderGuide({
    version: '1.2.3',
    chain: { client: 'anvil', url: 'http://127.0.0.1:8555', genesisFile: '/tmp/dev/genesis.json' },
    stream: 'ws://127.0.0.1:1',
    addresses: { public: '127.0.0.1:8545', dedicated: '127.0.0.1:8546', admin: '127.0.0.1:8547' },
  });
  expect(guide.trimEnd().split('\n').length).toBeLessThanOrEqual(25);
  expect(guide.match(/^(?:sleep 0\.3; )?curl .*$/gm)).toHaveLength(3);
});
