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
import { ethSimulateV1 } from './calls/eth_simulateV1.ts';
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
import { ethBaseFee } from './fees/eth_baseFee.ts';
import { ethBlobBaseFee } from './fees/eth_blobBaseFee.ts';
import { ethFeeHistory } from './fees/eth_feeHistory.ts';
import { ethGasPrice } from './fees/eth_gasPrice.ts';
import { ethMaxPriorityFeePerGas } from './fees/eth_maxPriorityFeePerGas.ts';
import { ethGetLogs } from './logs/eth_getLogs.ts';
import { ethGetLogsWithCursor } from './logs/eth_getLogsWithCursor.ts';
import type { Method } from './method.ts';
import { ethCapabilities } from './node/eth_capabilities.ts';
import { ethChainId } from './node/eth_chainId.ts';
import { ethConfig } from './node/eth_config.ts';
import { ethSyncing } from './node/eth_syncing.ts';
import { netListening } from './node/net_listening.ts';
import { netVersion } from './node/net_version.ts';
import { opSupportedCapabilities } from './node/op_supportedCapabilities.ts';
import { rpcDiscover } from './node/rpc_discover.ts';
import { web3ClientVersion } from './node/web3_clientVersion.ts';
import { web3Sha3 } from './node/web3_sha3.ts';
import { elseUpstream, looksForHash, passedOn } from './passed-on.ts';
import { ethSendRawTransaction } from './sending/eth_sendRawTransaction.ts';
import { ethSendRawTransactionSync } from './sending/eth_sendRawTransactionSync.ts';
import { ethGetBalance } from './state/eth_getBalance.ts';
import { ethGetCode } from './state/eth_getCode.ts';
import { ethGetProof } from './state/eth_getProof.ts';
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
  ethSimulateV1,
  ethGetBlockReceipts,
  ethGetStorageAt,
  ethGetTransactionCount,
  ethGetBalance,
  ethGetCode,
  ethGetStorageValues,
  ethGetProof,
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
  ethGasPrice,
  ethMaxPriorityFeePerGas,
  ethFeeHistory,
  ethBaseFee,
  ethBlobBaseFee,
  ethSendRawTransaction,
  ethSendRawTransactionSync,
  ethChainId,
  ethBlockNumber,
  netVersion,
  netListening,
  web3ClientVersion,
  web3Sha3,
  ethConfig,
  ethCapabilities,
  ethSyncing,
  opSupportedCapabilities,
];

/** Every method this version serves, by name, with those that stand above this folder, and those that `--forward` names. */
export function createMethods(
  version: string,
  others: readonly Method[],
  forward: readonly string[] = [],
): ReadonlyMap<string, Method> {
  const own = METHODS.map((method) =>
    looksForHash(method.name) && forward.includes(method.name) ? elseUpstream(method) : method,
  );
  const passed = forward.filter((name) => !looksForHash(name)).map(passedOn);
  const all = [...own, ...others, ...passed];
  const twice = all.find(({ name }, index) => all.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw new Error(`--forward: ${twice.name} is served here, or named twice`);
  return new Map([...all, rpcDiscover(all, version)].map((method) => [method.name, method]));
}
