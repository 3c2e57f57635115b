import { ethBlockNumber } from './blocks/eth_blockNumber.ts';
import { ethGetBlockReceipts } from './blocks/eth_getBlockReceipts.ts';
import { ethCall } from './calls/eth_call.ts';
import { ethGetLogs } from './logs/eth_getLogs.ts';
import type { Method } from './method.ts';
import { ethChainId } from './node/eth_chainId.ts';
import { ethSyncing } from './node/eth_syncing.ts';
import { netVersion } from './node/net_version.ts';
import { opSupportedCapabilities } from './node/op_supportedCapabilities.ts';
import { rpcDiscover } from './node/rpc_discover.ts';
import { web3ClientVersion } from './node/web3_clientVersion.ts';
import { ethGetStorageAt } from './state/eth_getStorageAt.ts';
import { ethGetTransactionCount } from './state/eth_getTransactionCount.ts';

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
