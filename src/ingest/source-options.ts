import type { Options } from '../config/table.ts';
import { DEFAULT_SOURCE_OPTIONS, type PoolOptions } from '../source/options.ts';

type PoolSettings = Pick<
  Options,
  | 'upstreamTimeoutMs'
  | 'upstreamDeadlineMs'
  | 'upstreamBatchCalls'
  | 'upstreamInFlight'
  | 'upstreamQueue'
  | 'upstreamResponseBytes'
  | 'upstreamDemotionMs'
>;

/** How upstreams are asked, as configured. */
export function poolOptions(options: PoolSettings): PoolOptions {
  const { pool } = DEFAULT_SOURCE_OPTIONS;
  return {
    ...pool,
    timeoutMs: options.upstreamTimeoutMs,
    deadlineMs: options.upstreamDeadlineMs,
    maxBatchCalls: options.upstreamBatchCalls,
    maxInFlight: options.upstreamInFlight,
    maxQueuedCalls: options.upstreamQueue,
    maxResponseBytes: options.upstreamResponseBytes,
    demotion: { ...pool.demotion, firstMs: options.upstreamDemotionMs },
  };
}
