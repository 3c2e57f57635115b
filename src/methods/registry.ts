import { ethBlockNumber } from './eth_blockNumber.ts';
import { ethCall } from './eth_call.ts';
import { ethChainId } from './eth_chainId.ts';
import { ethGetBlockReceipts } from './eth_getBlockReceipts.ts';
import { ethGetLogs } from './eth_getLogs.ts';
import { ethGetStorageAt } from './eth_getStorageAt.ts';
import { ethGetTransactionCount } from './eth_getTransactionCount.ts';
import { ethSyncing } from './eth_syncing.ts';
import type { Method } from './method.ts';
import { netVersion } from './net_version.ts';
import { opSupportedCapabilities } from './op_supportedCapabilities.ts';
import { rpcDiscover } from './rpc_discover.ts';
import { web3ClientVersion } from './web3_clientVersion.ts';

const METHODS: readonly Method[] = [
  ethGetLogs,
  ethCall,
  ethGetBlockReceipts,
  ethGetStorageAt,
  ethGetTransactionCount,
  ethChainId,
  ethBlockNumber,
  netVersion,
  web3ClientVersion,
  ethSyncing,
  opSupportedCapabilities,
];

/** Every method this version serves, by name, with those that stand above this folder. */
export function createMethods(version: string, others: readonly Method[]): ReadonlyMap<string, Method> {
  const all = [...METHODS, ...others];
  return new Map([...all, rpcDiscover(all, version)].map((method) => [method.name, method]));
}
