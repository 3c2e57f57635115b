import type { NativeOptions } from '@chain-query/native';
import type { Options } from '../config/table.ts';
import type { ExecutorOptions } from './native-executor.ts';

/** What an executor that only runs blocks needs of the configuration. */
export type ExecutorSettings = Pick<
  Options,
  'hotWindow' | 'hotStateEntries' | 'codeCacheBytes' | 'maxBlockGas' | 'blockTimeLimitMs'
>;
type CallSettings = Pick<
  Options,
  | 'callInlineSteps'
  | 'callTimeLimitMs'
  | 'callPoolThreads'
  | 'callPoolQueue'
  | 'historicalStateBytes'
  | 'oddTransactionsRoots'
  | 'preconfirmedBlocks'
  | 'simulateTimeLimitMs'
  | 'trieKeys'
>;

/** Limits for executing blocks; calls are not expected, and get the least. */
export function blockOptions(options: ExecutorSettings): NativeOptions & ExecutorOptions {
  return {
    window: options.hotWindow,
    entries: options.hotStateEntries,
    codeBytes: options.codeCacheBytes,
    historyBytes: 1,
    poolThreads: 1,
    poolQueue: 1,
    maxBlockGas: options.maxBlockGas,
    blockTimeLimitMs: options.blockTimeLimitMs,
    callInlineSteps: 1,
    callTimeLimitMs: 1,
    simulateTimeLimitMs: 1,
  };
}

/** Limits for serving calls. */
export function servingOptions(options: ExecutorSettings & CallSettings): NativeOptions & ExecutorOptions {
  return {
    ...blockOptions(options),
    historyBytes: options.historicalStateBytes,
    poolThreads: options.callPoolThreads,
    poolQueue: options.callPoolQueue,
    callInlineSteps: options.callInlineSteps,
    callTimeLimitMs: options.callTimeLimitMs,
    simulateTimeLimitMs: options.simulateTimeLimitMs,
    trieKeys: options.trieKeys,
    oddTransactionsRoots: options.oddTransactionsRoots,
    preconfirmedDepth: options.preconfirmedBlocks,
  };
}
