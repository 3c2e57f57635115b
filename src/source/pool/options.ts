import type { Options } from '../../config/table.ts';
import type { BackOff } from '../clock.ts';
import type { BanOptions } from './ban.ts';
import type { UpstreamOptions } from './upstream.ts';

export interface PoolOptions extends UpstreamOptions {
  /** How often every upstream is asked before a question fails. */
  readonly rounds: number;
  /** Time of one question, with all its retries. */
  readonly deadlineMs: number;
  /** Pause between rounds. */
  readonly backOff: BackOff;
  /** A question goes to a second upstream once it took this many times the first one's usual time. */
  readonly hedgeFactor: number;
  readonly hedgeMinMs: number;
  /** Questions that may be with two upstreams at the same time. */
  readonly maxHedges: number;
  /** Different questions at the same time; more fail at once. */
  readonly maxQuestions: number;
  readonly ban: BanOptions;
}

export interface WatchOptions {
  /** Pause between polls of an upstream that cannot announce heads. */
  readonly pollMs: number;
  /** How long an upstream that announces heads may be silent before it is asked, and reconnected if it missed one. */
  readonly staleMs: number;
  readonly reconnect: BackOff;
}

export interface SourceOptions {
  readonly pool: PoolOptions;
  readonly watch: WatchOptions;
}

/** What fits public endpoints and nodes of one's own alike. */
export const DEFAULT_SOURCE_OPTIONS: SourceOptions = {
  pool: {
    timeoutMs: 10_000,
    connectTimeoutMs: 5_000,
    maxResponseBytes: 2 ** 26,
    maxBatchCalls: 100,
    maxBatchBytes: 2 ** 18,
    maxInFlight: 8,
    maxQueuedCalls: 20_000,
    maxPauseMs: 60_000,
    rounds: 4,
    deadlineMs: 30_000,
    backOff: { firstMs: 100, maxMs: 5_000 },
    hedgeFactor: 4,
    hedgeMinMs: 50,
    maxHedges: 256,
    maxQuestions: 20_000,
    chainCheckMs: 60_000,
    otherChainMs: 5_000,
    denial: { firstMs: 300_000, maxMs: 3_600_000 },
    ban: { firstMs: 60_000, maxMs: 3_600_000 },
  },
  watch: { pollMs: 500, staleMs: 8_000, reconnect: { firstMs: 250, maxMs: 15_000 } },
};

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
    ban: { ...pool.ban, firstMs: options.upstreamDemotionMs },
  };
}
