import type { NativeOptions } from '@chain-query/native';
import type { Options } from '../config/table.ts';
import type { ViewOptions } from './state-view.ts';

/** What an executor that only runs blocks needs of the configuration. */
export type ExecutorSettings = Pick<Options, 'undoWindow' | 'hotStateEntries' | 'codeCacheBytes'>;
type CallSettings = Pick<
  Options,
  | 'callInlineSteps'
  | 'callTimeLimitMs'
  | 'callPoolThreads'
  | 'callPoolQueue'
  | 'callGasCap'
  | 'historicalViews'
  | 'oddTransactionsRoots'
  | 'preconfirmedBlocks'
>;

/** Limits for executing blocks; calls are not expected, and get the least. */
export function blockOptions(options: ExecutorSettings): NativeOptions & ViewOptions {
  return {
    window: options.undoWindow,
    entries: options.hotStateEntries,
    codeBytes: options.codeCacheBytes,
    viewEntries: 1,
    poolThreads: 1,
    poolQueue: 1,
    callInlineSteps: 1,
    callTimeLimitMs: 1,
  };
}

/** The least a call pays for a slot it has not touched, by an access list; what it can read is bounded by it. */
const GAS_PER_SLOT = 1_900;

/** Limits for serving calls. */
export function servingOptions(options: ExecutorSettings & CallSettings): NativeOptions & ViewOptions {
  return {
    ...blockOptions(options),
    // Views below the window share one budget with hot state; but one call must fit into its view, or it would
    // push out its own first reads and never be complete.
    viewEntries: Math.max(
      Math.ceil(options.callGasCap / GAS_PER_SLOT),
      Math.floor(options.hotStateEntries / options.historicalViews),
    ),
    poolThreads: options.callPoolThreads,
    poolQueue: options.callPoolQueue,
    callInlineSteps: options.callInlineSteps,
    callTimeLimitMs: options.callTimeLimitMs,
    oddTransactionsRoots: options.oddTransactionsRoots,
    preconfirmedDepth: options.preconfirmedBlocks,
  };
}
