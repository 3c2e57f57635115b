import { createPublicClient, createWalletClient, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { inject } from 'vitest';
import { abi, chain as devChain } from '../e2e/dev-chain.ts';
import type { PartyName } from './parties.ts';

/** The chain of `dev` as viem knows chains with pre-confirmations, such as Base. */
export const chain = { ...devChain, blockTime: 2_000, experimental_preconfirmationTime: 200 } as const;

/** What a file of tests reads and sends with: our node, for both. */
export function partyOf(name: PartyName) {
  const { url } = inject('dev');
  const { key, counter } = inject('parties')[name];
  const account = privateKeyToAccount(key);
  return {
    key,
    account,
    counter: { address: counter, abi } as const,
    reader: createPublicClient({ chain, transport: http(url) }),
    wallet: createWalletClient({ account, chain, transport: http(url) }),
  };
}
