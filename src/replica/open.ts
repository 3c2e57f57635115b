import { setTimeout as delay } from 'node:timers/promises';
import { CodecError } from '../chain/byte-codec.ts';
import { decodeOutcome } from '../chain/outcome-codec.ts';
import type { CommandOptions } from '../config/table.ts';
import type { StateLoader } from '../executor/interface.ts';
import { NativeExecutor } from '../executor/native-executor.ts';
import { servingOptions } from '../executor/options.ts';
import type { FeedSubscriber } from '../feed/nats/subscriber.ts';
import type { ChainCopy, CopyModules } from '../follow/chain-copy.ts';
import type { ReadinessIssue } from '../follow/health/readiness.ts';
import { openPassing, sourceOptions } from '../follow/passing/open-passing.ts';
import { expectChainId, rulesOfShared } from '../follow/rules/chain-rules.ts';
import { forwarderTo } from '../follow/state/forwarding.ts';
import { PinnedState } from '../follow/state/pinned-state.ts';
import { plainReader } from '../follow/state/reader.ts';
import { openReplicatedPreconfirming } from '../preconfirm/open.ts';
import type { ReplicatedPreconfirming } from '../preconfirm/replicated.ts';
import { configText } from '../rules/chains.ts';
import { SourceError } from '../source/errors.ts';
import { RpcSource } from '../source/rpc-source.ts';
import type { CqlReplica } from '../store/cql/replica.ts';
import { isUnavailable } from '../store/error.ts';
import { isBeingRestored } from '../store/restoring.ts';
import { storeLoader } from '../store/state-loader.ts';
import { subscriberOptions } from './feed-options.ts';
import { measureHeard, measureReplica } from './metrics.ts';
import { RememberedPins } from './remembered-pins.ts';
import { StoreFollower } from './store-follower.ts';
import { Wake } from './wake.ts';

export interface ReplicaModules extends Omit<CopyModules, 'store'> {
  readonly store: CqlReplica;
}

/** Between two looks at a store that does not answer, or holds nothing yet. */
const RETRY_MS = 250;
/** State of upstreams that is kept, where the store does not have all of it. */
const PINNED_BYTES = 2 ** 28;
const ARCHIVE_CODE_BYTES = 2 ** 26;

/** Opens a replica: a copy of a chain that another process writes. It executes calls, and no blocks. */
export async function openReplica(
  options: CommandOptions<'serve'>,
  modules: ReplicaModules,
): Promise<ChainCopy> {
  const { store, logger, registry, publish, onFailure, signal } = modules;
  const rules = await firstLook(options.chain, modules);
  const source =
    options.upstream === undefined ? undefined : new RpcSource(options.upstream, sourceOptions(options));
  const stop = new AbortController();
  try {
    const load = source === undefined ? storeLoader(store) : pinnedLoader(options, modules, source);
    const executor = NativeExecutor.create(rules, servingOptions(options), { load });
    if (source !== undefined)
      await expectChainId(source, executor.chainId, signal).catch((error: unknown) => {
        // With no upstream to ask, what is held can be served: each is asked again before it is used.
        if (!(error instanceof SourceError)) throw error;
      });
    // What is pre-confirmed is on the feed only.
    const preconfirming =
      options.feed && openReplicatedPreconfirming({ executor, publish, registry, logger });
    const follower = new StoreFollower(options.hotWindow, {
      ...{ store, executor, publish },
      moved: (head) => preconfirming?.setHead(head),
    });
    await follower.begin();
    const upstream = source && { source, prefer: () => source.status()[0]?.name };
    const passing = openPassing(options, { chainId: executor.chainId, registry, upstream });
    measureReplica(registry, store);
    const wake = new Wake();
    const loaded = options.feed && (await import('../feed/nats/subscriber.ts'));
    let feed: FeedSubscriber | undefined;
    let running: Promise<unknown> | undefined;
    let failure: string | undefined;
    const run = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        try {
          await follower.look();
          feed?.fence(Number(store.epoch));
          if (failure !== undefined) logger.info('the store answers again');
          failure = undefined;
        } catch (error) {
          if (!isUnavailable(error)) throw error;
          if (failure === undefined) logger.warn({ err: error }, 'the store does not answer');
          failure = error.message;
        }
        const pauseMs = failure === undefined ? options.storeLook : RETRY_MS;
        await wake.pause(pauseMs);
      }
    };
    return {
      ...{ executor, load, chainConfig: configText(rules) },
      ...{ passOn: passing.passOn, canSend: passing.canSend },
      forward: source && options.nativeContracts === 'forward' ? forwarderTo(source) : undefined,
      position: () => store.position(),
      async condition() {
        const issues: ReadinessIssue[] = [];
        const silentMs = store.silentMs;
        if (failure !== undefined && silentMs > options.storeGrace / 4)
          issues.push({ reason: 'store', detail: failure });
        else if (store.unwrittenMs > options.readyConfirmedMs) {
          const seconds = Math.round(store.unwrittenMs / 1_000);
          issues.push({ reason: 'store', detail: `nobody has written it for ${seconds} s` });
        }
        const ageMs = preconfirming?.ageMs ?? 0;
        if (ageMs >= options.readyPreconfirmedMs) {
          const seconds = Math.round(ageMs / 1_000);
          issues.push({ reason: 'pre-confirmed age', detail: `no flashblock for ${seconds} s` });
        }
        return { head: store.marks()?.head, lag: undefined, issues };
      },
      upstreams: () => source?.status() ?? [],
      start() {
        // Not before there are threads: they would miss how a pre-confirmed block began.
        feed = loaded && hearFeed(options, { ...modules, ...loaded, preconfirming }, () => wake.wake());
        running = Promise.all([run(), feed?.ended]).catch(onFailure);
      },
      async close() {
        stop.abort();
        wake.wake();
        await feed?.close();
        passing.close();
        source?.close();
        await running;
      },
    };
  } catch (error) {
    source?.close();
    throw error;
  }
}

/** Hears of blocks before the store is looked at: what that then names need not be read. */
function hearFeed(
  options: CommandOptions<'serve'>,
  {
    store,
    logger,
    registry,
    preconfirming,
    FeedSubscriber: Subscriber,
  }: ReplicaModules & {
    readonly preconfirming: ReplicatedPreconfirming | undefined;
    readonly FeedSubscriber: typeof FeedSubscriber;
  },
  onNews: () => void,
): FeedSubscriber | undefined {
  const subscriber = subscriberOptions(options);
  if (subscriber === undefined) return undefined;
  const feed = new Subscriber(
    subscriber,
    {
      item(item) {
        if (item.kind === 'confirmed') for (const { outcome } of item.added) offer(store, outcome);
        preconfirming?.take(item);
        if (item.kind !== 'preconfirmed') onNews();
      },
      lost(lost) {
        logger.debug({ ...lost }, 'the feed has a gap: the store is read');
        preconfirming?.lost(lost.reason);
        onNews();
      },
    },
    (err) => logger.warn({ err }, 'the feed does not answer'),
  );
  measureHeard(registry, () => feed.state);
  return feed;
}

/** Bytes that are no block are nothing to go by, and no reason to stop: the store is read. */
function offer(store: CqlReplica, outcome: Uint8Array): void {
  try {
    store.offer(decodeOutcome(outcome));
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
  }
}

/** State from the store; what that does not know, from upstreams. */
function pinnedLoader(
  options: CommandOptions<'serve'>,
  { store, logger }: ReplicaModules,
  source: RpcSource,
): StateLoader {
  const state = new PinnedState(
    { maxPins: options.maxPins, pinDelayMs: options.pinDelayMs, archiveCodeBytes: ARCHIVE_CODE_BYTES },
    {
      store: new RememberedPins(store, PINNED_BYTES),
      read: plainReader(source),
      onFault: (err) => logger.error({ err }, 'state cannot be kept'),
    },
  );
  return (keys, number, of, request) => state.load(keys, number, of, request);
}

/** Waits until the store shows a chain; its rules. */
async function firstLook(
  chain: string | undefined,
  { store, logger, signal }: ReplicaModules,
): Promise<string> {
  let said: string | undefined;
  for (;;) {
    let reason = 'it holds no chain yet';
    try {
      await store.sync();
      if (await isBeingRestored(store)) reason = 'it is being restored';
      else if (store.marks() !== undefined) {
        const rules = await rulesOfShared(chain, store);
        if (rules !== undefined) return rules;
        reason = 'no block has been verified under its rules yet';
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      reason = error.message;
    }
    if (reason !== said) logger.warn({ reason }, 'waiting for the store');
    said = reason;
    await delay(RETRY_MS, undefined, { signal });
  }
}
