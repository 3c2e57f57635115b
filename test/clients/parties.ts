import { createWalletClient, getContractAddress, type Hex, http, keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { ACCOUNTS, COUNTER } from '../../src/dev/client/genesis.ts';
import { chain } from '../e2e/dev-chain.ts';
import { until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';

/** Who send, each beside the others: two that share an account would take each other's nonces. */
const names = [
  'viem',
  'ethersHttp',
  'ethersWebSocket',
  'cast',
  'wagmi',
  'hardhat',
  'docs',
  'timing',
] as const;
export type PartyName = (typeof names)[number];

/** An account with some ether, and a counter that nobody else counts with. */
export interface Party {
  readonly key: Hex;
  readonly counter: Hex;
}

const ether = 10n ** 18n;
/** Copies the code that follows it into the new account. */
export const creation = (code: Hex): Hex =>
  `0x61${((code.length - 2) / 2).toString(16).padStart(4, '0')}80600a3d393df3${code.slice(2)}`;

/** Gives everybody an account and a counter, from the first account of a new chain. */
export async function makeParties(url: string): Promise<Record<PartyName, Party>> {
  const account = privateKeyToAccount(ACCOUNTS[0].key);
  const wallet = createWalletClient({ account, chain, transport: http(url) });
  const fees = { gas: 500_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n } as const;
  const parties: [PartyName, Party][] = [];
  let nonce = 0;
  for (const name of names) {
    const key = keccak256(toHex(`a client: ${name}`));
    const to = privateKeyToAccount(key).address;
    await wallet.sendTransaction({ ...fees, to, value: 100n * ether, nonce: nonce++ });
    const counter = getContractAddress({ from: account.address, nonce: BigInt(nonce) });
    await wallet.deployContract({
      ...fees,
      abi: [],
      bytecode: creation(COUNTER.code),
      nonce: nonce++,
    });
    parties.push([name, { key, counter }]);
  }
  // Confirmed: clients estimate at the latest block.
  const last = parties.at(-1)?.[1].counter;
  await until('the parties', async () =>
    (await request(url, 'eth_getCode', [last, 'latest'])) === '0x' ? undefined : true,
  );
  return Object.fromEntries(parties) as Record<PartyName, Party>;
}
