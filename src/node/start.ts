import { readFileSync } from 'node:fs';
import { timestampOf } from '../chain/header-time.ts';
import { expectPackages } from '../config/packages/optional-packages.ts';
import type { CommandOptions } from '../config/table.ts';
import { nativeMemory, Trimmer } from '../executor/memory.ts';
import { measureExecutor } from '../executor/metrics.ts';
import { lowerPoolPriority } from '../executor/pool-priority.ts';
import type { PublishToFeed } from '../feed/interface.ts';
import type { ChainCopy } from '../follow/chain-copy.ts';
import type { Condition } from '../follow/health/readiness.ts';
import { WritingHealth } from '../follow/health/writing.ts';
import { openCopy } from '../follow/open-copy.ts';
import { openReplica } from '../replica/open.ts';
import { openFeed } from '../replica/open-feed.ts';
import type { AdminServer } from '../rpc/admin/server.ts';
import { HeapReclaimer } from '../rpc/limits/heap-reclaimer.ts';
import { connectionLimit, expectFree, formatEndpoint, wantedEndpoints } from '../serving/listeners.ts';
import type { Endpoints } from '../serving/messages.ts';
import { Pulse } from '../telemetry/heartbeat.ts';
import type { Logger } from '../telemetry/logger.ts';
import { measureMemory } from '../telemetry/memory.ts';
import { createMetricsRegistry } from '../telemetry/metrics.ts';
import { type AdminSubject, startAdmin } from './admin.ts';
import { readCredentials, watchCredentials } from './credentials.ts';
import { indexOlderTransactions } from './index-transactions.ts';
import { openNodeStore, type Role } from './open-store.ts';
import { reload } from './reload.ts';
import { ServingThreads } from './serving-threads.ts';

export type { Role } from './open-store.ts';

const COLLECT_CHECK_MS = 1_000;
const TRIM_CHECK_MS = 5_000;
/** What is left for the feed has so long to be sent. */
const FEED_CLOSE_MS = 1_000;

/** What a person wants to know of a node that has started. */
export interface NodeFacts extends Pick<Condition, 'head' | 'lag' | 'leader' | 'issues'> {
  readonly chainId: bigint;
  /** Seconds since 1970, of the head. */
  readonly headTime: number | undefined;
}

/** A running node. */
export interface Node {
  /** Where it listens, as `host:port`, by the names of profiles and `admin`; what is off is absent. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Aborted, with the reason, when it cannot go on: half a node that answers at random is worse than none. */
  readonly failed: AbortSignal;
  /** What it holds and whom it follows, now. */
  facts(): Promise<NodeFacts>;
  /** Goes by other options, as far as they can change, and reads keys and certificates again. */
  reload(options: CommandOptions<'serve'>): void;
  /** Has `/readyz` say that no more requests should be sent here; they are served as before. */
  drain(): void;
  /** Lets requests under way finish, then stops. */
  close(): Promise<void>;
}

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

/** Starts serving a store, and keeps it at the head of its chain if there are upstreams: one shared hot state, several threads with their own servers on the same ports. */
export async function startNode(
  started: CommandOptions<'serve'>,
  {
    role = 'serve',
    logger,
    signal,
  }: { readonly role?: Role; readonly logger: Logger; readonly signal: AbortSignal },
): Promise<Node> {
  let options = started;
  if (options.upstream === undefined && options.flashblocks !== undefined) {
    throw new Error(
      '--flashblocks needs --upstream: flashblocks are executed on the head of a chain that is followed',
    );
  }
  expectPackages(options);
  const failure = new AbortController();
  const onFailure = (error: unknown): void => failure.abort(error);
  const cleanups: (() => Promise<void> | undefined)[] = [];
  let isDraining = false;
  const drain = (): void => {
    isDraining = true;
  };
  const close = async (): Promise<void> => {
    drain();
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const registry = createMetricsRegistry();
    const writing = new WritingHealth(registry, logger);
    // Nobody is served by an ingester.
    const threads = new ServingThreads(role === 'ingest' ? 0 : options.threads);
    const pulse = new Pulse(threads.heartbeats);
    // Closed after the threads: whoever asks for its health while they drain hears of it.
    let admin: AdminServer | undefined;
    cleanups.push(() => admin?.close());
    let copy: ChainCopy | undefined;
    let store: ReturnType<AdminSubject['store']>;
    let endpoints: Endpoints = {};
    let hear: Parameters<AdminSubject['onFeed']>[0] | undefined;
    const subject: AdminSubject = {
      ...{ version, registry, threads: threads.running, pulse, writing, logger },
      copy: () => copy,
      store: () => store,
      endpoints: () => endpoints,
      onFeed: (listener) => {
        hear = listener;
      },
      isDraining: () => isDraining,
    };
    // It may wait for long, and has to say so; who serves is asked once it does.
    if (role === 'ingest') admin = await startAdmin(options, subject);
    const opened = await openNodeStore(options, {
      ...{ role, writing, registry, logger, onFailure, signal },
      admin: admin && formatEndpoint(admin.endpoint),
      onClose: (cleanup) => cleanups.push(cleanup),
    });
    store = opened.store;
    endpoints = role === 'ingest' ? {} : wantedEndpoints(options);
    await expectFree(endpoints);
    const credentials = await readCredentials(options);
    const maxConnections = role === 'ingest' ? 0 : connectionLimit(options, logger);
    measureMemory(registry, nativeMemory);
    const feed =
      opened.kind === 'writer' ? await openFeed(options, opened.store, { logger, registry }) : undefined;
    cleanups.push(() => feed?.close(FEED_CLOSE_MS));
    const publish: PublishToFeed = async (item, position) => {
      feed?.publish(item);
      hear?.(item);
      await threads.feed(item, position);
    };
    const copyModules = { logger, registry, publish, onFailure, signal };
    const chain = await (opened.kind === 'replica'
      ? openReplica(options, { ...copyModules, store: opened.store })
      : openCopy(options, { ...copyModules, store: opened.store }));
    copy = chain;
    cleanups.push(() => chain.close());
    measureExecutor(registry, chain.executor, options.callPoolThreads);
    lowerPoolPriority();
    const reclaimer = new HeapReclaimer({ held: () => 0 });
    const trimmer = new Trimmer();
    const timers = [
      setInterval(() => reclaimer.look(), COLLECT_CHECK_MS),
      setInterval(() => trimmer.look(), TRIM_CHECK_MS),
    ];
    cleanups.push(async () => {
      for (const timer of timers) clearInterval(timer);
    });
    cleanups.push(() => threads.close());
    endpoints = await threads.start(endpoints, {
      ...{ options, version, chain, credentials, maxConnections, registry, onFailure },
    });
    const keys = watchCredentials(options, {
      logger,
      onChange: (changed) => threads.say({ kind: 'credentials', ...changed }),
    });
    cleanups.push(async () => keys[Symbol.dispose]());
    const onReload = (wanted: CommandOptions<'serve'>): void => {
      const { changed, needRestart, options: next } = reload(options, wanted);
      options = next;
      logger.level = next.logLevel;
      threads.say({ kind: 'options', options: next });
      keys.look();
      logger.info({ changed }, 'options were read again');
      if (needRestart.length > 0)
        logger.warn({ options: needRestart }, 'changed options that need a restart');
    };
    const watching = pulse.watch();
    cleanups.push(async () => watching[Symbol.dispose]());
    admin ??= await startAdmin(options, subject);
    chain.start();
    if (opened.kind === 'own') {
      const indexing = new AbortController();
      const indexed = indexOlderTransactions(opened.store, logger, indexing.signal).catch(onFailure);
      cleanups.push(() => {
        indexing.abort();
        return indexed;
      });
    }
    failure.signal.throwIfAborted();
    failure.signal.addEventListener('abort', () => {
      logger.fatal({ err: failure.signal.reason }, 'the node cannot go on');
    });
    return {
      addresses: addressesOf(endpoints, admin),
      failed: failure.signal,
      async facts() {
        const { head, lag, leader, issues } = await chain.condition();
        const header = head && (await opened.store.header(head));
        const headTime = header && timestampOf(header);
        return { chainId: chain.executor.chainId, head, headTime, lag, leader, issues };
      },
      reload: onReload,
      drain,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function addressesOf(endpoints: Endpoints, admin: AdminServer | undefined): Node['addresses'] {
  const addresses: Record<string, string> = {};
  for (const [listener, endpoint] of Object.entries(endpoints))
    addresses[listener] = formatEndpoint(endpoint);
  if (admin !== undefined) addresses['admin'] = formatEndpoint(admin.endpoint);
  return addresses;
}
