import { ethBlockNumber } from './blocks/eth_blockNumber.ts';
import { ethGetBlockByHash, ethGetBlockByNumber } from './blocks/eth_getBlockBy.ts';
import { ethGetBlockReceipts } from './blocks/eth_getBlockReceipts.ts';
import {
  ethGetBlockTransactionCountByHash,
  ethGetBlockTransactionCountByNumber,
} from './blocks/eth_getBlockTransactionCountBy.ts';
import { ethGetHeaderByHash, ethGetHeaderByNumber } from './blocks/eth_getHeaderBy.ts';
import { ethCall } from './calls/eth_call.ts';
import { ethCreateAccessList } from './calls/eth_createAccessList.ts';
import { ethEstimateGas } from './calls/eth_estimateGas.ts';
import {
  debugGetRawBlock,
  debugGetRawHeader,
  debugGetRawReceipts,
  debugGetRawTransaction,
} from './debug/debug_getRaw.ts';
import {
  debugTraceBlockByHash,
  debugTraceBlockByNumber,
  debugTraceCall,
  debugTraceTransaction,
} from './debug/debug_trace.ts';
import { ethGetLogs } from './logs/eth_getLogs.ts';
import { ethGetLogsWithCursor } from './logs/eth_getLogsWithCursor.ts';
import type { Method } from './method.ts';
import { ethChainId } from './node/eth_chainId.ts';
import { ethSyncing } from './node/eth_syncing.ts';
import { netVersion } from './node/net_version.ts';
import { opSupportedCapabilities } from './node/op_supportedCapabilities.ts';
import { rpcDiscover } from './node/rpc_discover.ts';
import { web3ClientVersion } from './node/web3_clientVersion.ts';
import { ethGetBalance } from './state/eth_getBalance.ts';
import { ethGetCode } from './state/eth_getCode.ts';
import { ethGetStorageAt } from './state/eth_getStorageAt.ts';
import { ethGetStorageValues } from './state/eth_getStorageValues.ts';
import { ethGetTransactionCount } from './state/eth_getTransactionCount.ts';
import {
  ethGetTransactionByBlockHashAndIndex,
  ethGetTransactionByBlockNumberAndIndex,
} from './transactions/eth_getTransactionByBlockAndIndex.ts';
import { ethGetTransactionByHash } from './transactions/eth_getTransactionByHash.ts';
import { ethGetTransactionReceipt } from './transactions/eth_getTransactionReceipt.ts';

const METHODS: readonly Method[] = [
  ethGetLogs,
  ethGetLogsWithCursor,
  ethCall,
  ethEstimateGas,
  ethCreateAccessList,
  debugTraceCall,
  debugTraceTransaction,
  debugTraceBlockByNumber,
  debugTraceBlockByHash,
  ethGetBlockReceipts,
  ethGetStorageAt,
  ethGetTransactionCount,
  ethGetBalance,
  ethGetCode,
  ethGetStorageValues,
  ethGetBlockByNumber,
  ethGetBlockByHash,
  ethGetHeaderByNumber,
  ethGetHeaderByHash,
  ethGetBlockTransactionCountByNumber,
  ethGetBlockTransactionCountByHash,
  ethGetTransactionByBlockNumberAndIndex,
  ethGetTransactionByBlockHashAndIndex,
  ethGetTransactionByHash,
  ethGetTransactionReceipt,
  debugGetRawHeader,
  debugGetRawBlock,
  debugGetRawReceipts,
  debugGetRawTransaction,
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
