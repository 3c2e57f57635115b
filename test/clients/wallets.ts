import { createPublicClient, createWalletClient, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { ACCOUNTS, COUNTER } from '../../src/dev/client/genesis.ts';
import { abi, chain as devChain } from '../e2e/dev-chain.ts';
import type { DevPlaces } from './dev-node.ts';

/** The chain of `dev` as viem knows chains with pre-confirmations, such as Base. */
export const chain = { ...devChain, blockTime: 2_000, experimental_preconfirmationTime: 200 } as const;
export const counter = { address: COUNTER.address, abi } as const;

/** Its key is public. */
export const account = privateKeyToAccount(ACCOUNTS[0].key);

/** A client that reads from our node. */
export const readerOf = ({ url }: Pick<DevPlaces, 'url'>) =>
  createPublicClient({ chain, transport: http(url) });

/** A wallet of an account with a million ether. */
export const walletOf = ({ sendUrl }: Pick<DevPlaces, 'sendUrl'>) =>
  createWalletClient({ account, chain, transport: http(sendUrl) });
