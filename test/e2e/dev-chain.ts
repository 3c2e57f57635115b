import { parseAbi } from 'viem';
import { CHAIN_ID } from '../../src/dev/client/genesis.ts';

/** The sample contract of `dev`. */
export const abi = parseAbi([
  'function count() view returns (uint256)',
  'function increment()',
  'event Incremented(address indexed by, uint256 count)',
]);

/** The chain of `dev`, as viem wants to know it. */
export const chain = {
  id: CHAIN_ID,
  name: 'dev',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [] } },
} as const;

/** Has every listener of `dev` on a port of its own. */
export const listeners = ['--public', '--dedicated', '--admin', '--chain-rpc'].flatMap((flag) => [
  flag,
  '127.0.0.1:0',
]);
