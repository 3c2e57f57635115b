import type { Registry } from 'prom-client';
import type { CommandOptions } from '../config/table.ts';
import type { NativeExecutor } from '../executor/native-executor.ts';
import { FlashblockSource } from '../source/flashblocks/flashblock-source.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS, type FlashblockOptions } from '../source/flashblocks/options.ts';
import type { Logger } from '../telemetry/logger.ts';
import {
  Accuracy,
  measureAge,
  preconfirmingObserver,
  replicatedObserver,
  streamObserver,
} from './metrics.ts';
import { Preconfirming, type PreconfirmingModules } from './preconfirming.ts';
import {
  DEFAULT_REPLICATED_OPTIONS,
  type ReplicatedModules,
  type ReplicatedOptions,
  ReplicatedPreconfirming,
} from './replicated.ts';

type ServeOptions = CommandOptions<'serve'>;

/** Prepares to execute flashblocks, if there are streams of them. */
export function openPreconfirming(
  options: ServeOptions,
  modules: Pick<PreconfirmingModules, 'executor' | 'state' | 'publish' | 'stop'> & {
    readonly executor: Pick<NativeExecutor, 'transactionsFromJson'>;
    readonly registry: Registry;
    readonly logger: Logger;
  },
): Preconfirming | undefined {
  if (options.flashblocks === undefined) return undefined;
  const { registry, logger } = modules;
  const source = new FlashblockSource(options.flashblocks, flashblockOptions(options), {
    observe: streamObserver(registry, logger),
    encode: (transactions) => modules.executor.transactionsFromJson(transactions),
  });
  const observe = preconfirmingObserver(registry, logger);
  const accuracy = new Accuracy(registry);
  const preconfirming = new Preconfirming(options, { ...modules, source, observe, accuracy });
  const began = performance.now();
  measureAge(registry, () => preconfirming.ageMs ?? performance.now() - began);
  return preconfirming;
}

/** Prepares to apply flashblocks that another process executes. */
export function openReplicatedPreconfirming(
  modules: Omit<ReplicatedModules, 'observe'> & { readonly registry: Registry; readonly logger: Logger },
  options: ReplicatedOptions = DEFAULT_REPLICATED_OPTIONS,
): ReplicatedPreconfirming {
  const { registry, logger } = modules;
  const observe = replicatedObserver(registry, logger);
  const replicated = new ReplicatedPreconfirming(options, { ...modules, observe });
  const began = performance.now();
  measureAge(registry, () => replicated.ageMs ?? performance.now() - began);
  return replicated;
}

function flashblockOptions(options: ServeOptions): FlashblockOptions {
  const { stream, poll, sequence } = DEFAULT_FLASHBLOCK_OPTIONS;
  return {
    stream: { ...stream, silenceMs: options.flashblockSilenceMs },
    poll: { ...poll, intervalMs: options.flashblockPollMs },
    sequence: {
      ...sequence,
      gapMs: options.flashblockGapMs,
      earlyMs: options.flashblockEarlyMs,
      maxPendingBlocks: options.preconfirmedBlocks,
    },
    maxQueuedEvents: options.flashblockQueue,
  };
}
