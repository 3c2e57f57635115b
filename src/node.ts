import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { Gauge, type Registry } from 'prom-client';
import type { Endpoint } from './config/parsers.ts';
import type { CommandOptions } from './config/table.ts';
import { nativeMemory, Trimmer } from './executor/memory.ts';
import { lowerPoolPriority } from './executor/pool-priority.ts';
import type { PublishToFeed } from './feed/interface.ts';
import { appliedEverywhere, newProgress } from './feed/progress.ts';
import type { ChainCopy } from './ingest/chain-copy.ts';
import { openCopy } from './ingest/copy.ts';
import { connectionsWithin, openFilesLimit } from './ingest/open-files.ts';
import { WritingHealth } from './ingest/writing-health.ts';
import { Shares } from './primitives/shares.ts';
import { type AdminServer, createAdminServer, type NotReady, type Readiness } from './rpc/admin-server.ts';
import { newClientMemoryShares } from './rpc/client-memory.ts';
import { newConnectionMemory } from './rpc/connection-budget.ts';
import { LeftBehind } from './rpc/left-behind.ts';
import { LISTENERS, type Listener, type ThreadData } from './serving-thread-messages.ts';
import { ServingThread } from './serving-threads.ts';
import type { Store } from './store/interface.ts';
import { openLmdbStore, openWrittenStore } from './store/lmdb/index.ts';
import { holdWriterLock } from './store/lmdb/writer-lock.ts';
import { newHeartbeats, Pulse } from './telemetry/heartbeat.ts';
import type { Logger } from './telemetry/logger.ts';
import { measureMemory } from './telemetry/memory.ts';
import { countersIn, createMetricsRegistry, mergeMetrics } from './telemetry/metrics.ts';

const COLLECT_CHECK_MS = 1_000;
const TRIM_CHECK_MS = 5_000;

/** A running node. */
export interface Node {
  /** Where it listens, as `host:port`; a listener that is off is absent. */
  readonly addresses: Readonly<Partial<Record<Listener | 'admin', string>>>;
  /** Aborted, with the reason, when it cannot go on: half a node that answers at random is worse than none. */
  readonly failed: AbortSignal;
  /** Lets requests under way finish, then stops. */
  close(): Promise<void>;
}

/** How long metrics wait for a serving thread; those of the others are given without it. */
const METRICS_WAIT_MS = 1_000;

type Endpoints = Readonly<Partial<Record<Listener, Endpoint>>>;

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

/** Starts serving a store, and keeps it at the head of its chain if there are upstreams: one shared hot state, several threads with their own servers on the same ports. */
export async function startNode(
  options: CommandOptions<'serve'>,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<Node> {
  const follows = options.upstream !== undefined;
  if (!follows && options.flashblocks !== undefined) {
    throw new Error(
      '--flashblocks needs --upstream: flashblocks are executed on the head of a chain that is followed',
    );
  }
  if (follows) mkdirSync(options.data, { recursive: true });
  else if (!existsSync(options.data)) {
    throw new Error(`${options.data} does not exist: import a chain first, or follow one with --upstream`);
  }
  const failure = new AbortController();
  const onFailure = (error: unknown): void => failure.abort(error);
  const cleanups: (() => Promise<void> | undefined)[] = [];
  let isDraining = false;
  const close = async (): Promise<void> => {
    isDraining = true;
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const { data: path, undoWindow, storeMapSize: mapSizeBytes, diskReserve: diskReserveBytes } = options;
    const lock = follows ? holdWriterLock(path) : undefined;
    cleanups.push(async () => lock?.[Symbol.dispose]());
    const storeOptions = { path, undoWindow, mapSizeBytes, diskReserveBytes };
    const registry = createMetricsRegistry();
    const writing = new WritingHealth(registry, logger);
    // Whoever follows must not stand still while a block is written: flashblocks come every 200 ms.
    const store: Store = await (follows
      ? openWrittenStore(storeOptions, { onFailure, onTrouble: writing.hear })
      : openLmdbStore(storeOptions));
    cleanups.push(() => store.close());
    let endpoints = wantedEndpoints(options);
    await expectFree(endpoints);
    measureMemory(registry, nativeMemory);
    const threads: ServingThread[] = [];
    const shares = new Shares(options.stateReadsInFlight);
    const onRefused = measureStateReads(registry, shares);
    const progress = newProgress(options.threads);
    const clientMemory = newClientMemoryShares(options.threads);
    const heartbeats = newHeartbeats(options.threads);
    const connections = { memory: newConnectionMemory(), limit: connectionLimit(options, logger) };
    let sequence = 0;
    const publish: PublishToFeed = async (item) => {
      // What happens before there are threads, they find in the store.
      if (threads.length === 0) return;
      sequence++;
      const own = sequence;
      for (const thread of threads) thread.feed(own, item);
      await appliedEverywhere(progress, own, () => isDraining);
    };
    const copy = await openCopy(options, { store, logger, registry, publish, onFailure, signal });
    cleanups.push(() => copy.close());
    lowerPoolPriority();
    const leftBehind = new LeftBehind({ held: () => 0 });
    const trimmer = new Trimmer();
    const timers = [
      setInterval(() => leftBehind.look(), COLLECT_CHECK_MS),
      setInterval(() => trimmer.look(), TRIM_CHECK_MS),
    ];
    cleanups.push(async () => {
      for (const timer of timers) clearInterval(timer);
    });
    // Closed after the threads: whoever asks for its health while they drain hears of it.
    let admin: AdminServer | undefined;
    cleanups.push(() => admin?.close());
    cleanups.push(async () => {
      await Promise.all(threads.map((thread) => thread.close()));
    });
    const startThread = (): Promise<Endpoints> => {
      const place = threads.length;
      const executorId = copy.executor.id;
      const data: ThreadData = {
        ...{ options, version, executorId, endpoints, place },
        ...{ progress, clientMemory, heartbeats, connections },
      };
      const thread = new ServingThread(data, { load: copy.load, shares, onRefused, onFailure });
      threads.push(thread);
      return thread.listening;
    };
    // Where port 0 was asked for, the first thread is given one, and the others join it. Else they start together.
    if (Object.values(endpoints).some(({ port }) => port === 0)) endpoints = await startThread();
    await Promise.all(Array.from({ length: options.threads - threads.length }, startThread));
    const pulse = new Pulse(heartbeats);
    const watching = pulse.watch();
    cleanups.push(async () => watching[Symbol.dispose]());
    const subject = { copy, registry, threads, pulse, writing, isDraining: () => isDraining };
    admin = await startAdmin(options, subject);
    copy.start();
    failure.signal.throwIfAborted();
    failure.signal.addEventListener('abort', () => {
      logger.fatal({ err: failure.signal.reason }, 'the node cannot go on');
    });
    return { addresses: addressesOf(endpoints, admin), failed: failure.signal, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Threads share a port by SO_REUSEPORT, which would also join the port of another node, or of our other listener,
 * and mix their answers. A plain bind is refused where anybody listens.
 */
async function expectFree(endpoints: Endpoints): Promise<void> {
  const held: Server[] = [];
  try {
    for (const listener of LISTENERS) {
      const endpoint = endpoints[listener];
      if (endpoint === undefined || endpoint.port === 0) continue;
      const server = createServer((socket) => socket.destroy()).listen({ ...endpoint, exclusive: true });
      held.push(server);
      await once(server, 'listening').catch((cause: unknown) => {
        throw cannotListen(listener, endpoint, cause);
      });
    }
  } finally {
    const bound = held.filter(({ listening }) => listening);
    await Promise.all(bound.map((server) => once(server.close(), 'close')));
  }
}

/** How many connections there may be: as many as were asked for, or fewer where the system allows fewer open files. */
function connectionLimit(
  { threads, maxConnections, ...options }: CommandOptions<'serve'>,
  logger: Logger,
): number {
  const openFiles = openFilesLimit();
  const wanted = maxConnections * threads * Object.keys(wantedEndpoints(options)).length;
  const limit = connectionsWithin(openFiles);
  if (limit < wanted) {
    const fields = { openFiles, connections: limit, wanted };
    logger.info(fields, 'fewer connections than --max-connections asks for: raise the limit of open files');
  }
  return Math.min(limit, wanted);
}

function cannotListen(listener: string, endpoint: Endpoint, cause: unknown): Error {
  return new Error(`the ${listener} listener cannot use ${formatEndpoint(endpoint)}`, { cause });
}

function wantedEndpoints(options: Pick<CommandOptions<'serve'>, Listener>): Endpoints {
  const wanted: Partial<Record<Listener, Endpoint>> = {};
  for (const listener of LISTENERS) {
    const endpoint = options[listener];
    if (endpoint !== 'off') wanted[listener] = endpoint;
  }
  return wanted;
}

function addressesOf(endpoints: Endpoints, admin: AdminServer | undefined): Node['addresses'] {
  const addresses: Partial<Record<Listener | 'admin', string>> = {};
  for (const listener of LISTENERS) {
    const endpoint = endpoints[listener];
    if (endpoint !== undefined) addresses[listener] = formatEndpoint(endpoint);
  }
  if (admin !== undefined) addresses.admin = formatEndpoint(admin.endpoint);
  return addresses;
}

function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Measures what requests have read from upstreams; the result counts one that was refused. */
function measureStateReads(registry: Registry, shares: Shares): () => void {
  const counter = countersIn(registry)('state_reads_refused_total', 'Reads of state refused at once.');
  const gauge: Gauge = new Gauge({
    name: 'chain_query_state_reads_in_flight',
    help: 'Values of state that requests wait for.',
    registers: [registry],
    collect: () => gauge.set(shares.taken),
  });
  return () => counter.inc();
}

function silentThreads(pulse: Pulse, limitMs: number): readonly NotReady[] {
  return pulse.silentMs().flatMap((ms, place) => {
    if (ms < limitMs) return [];
    const detail = `serving thread ${place} has not responded for ${Math.floor(ms / 1_000)} s`;
    return [{ reason: 'worker', detail } as const];
  });
}

interface AdminSubject {
  readonly copy: ChainCopy;
  readonly registry: Registry;
  readonly threads: readonly ServingThread[];
  readonly pulse: Pulse;
  readonly writing: WritingHealth;
  readonly isDraining: () => boolean;
}

async function startAdmin(
  options: CommandOptions<'serve'>,
  node: AdminSubject,
): Promise<AdminServer | undefined> {
  const endpoint = options.admin;
  if (endpoint === 'off') return undefined;
  const { copy, registry } = node;
  const gauges = [
    ['chain_query_hot_accounts', 'Accounts held in hot state.', 'accounts'],
    ['chain_query_hot_slots', 'Storage slots held in hot state.', 'slots'],
    ['chain_query_hot_code_bytes', 'Contract code held in hot state.', 'codeBytes'],
    ['chain_query_pooled_calls', 'Long calls waiting or running.', 'pooledCalls'],
    ['chain_query_historical_state_bytes', 'State held of blocks below the window.', 'historyBytes'],
  ] as const;
  const preconfirmed = [
    ['chain_query_preconfirmed_blocks', 'Blocks that are pre-confirmed.', 'blocks'],
    ['chain_query_preconfirmed_accounts', 'Accounts that pre-confirmed blocks changed.', 'accounts'],
    ['chain_query_preconfirmed_slots', 'Storage slots that pre-confirmed blocks changed.', 'slots'],
  ] as const;
  for (const [name, help, size] of preconfirmed) {
    const collect = (): void => gauge.set(copy.executor.preconfirmedSizes()[size]);
    const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect });
  }
  for (const [name, help, size] of gauges) {
    const collect = (): void => gauge.set(copy.executor.sizes()[size]);
    const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect });
  }
  const responding = new Gauge({
    name: 'chain_query_worker_responding',
    help: '1 for each serving thread whose measures are in here, 0 for one that did not answer.',
    labelNames: ['worker'],
    registers: [registry],
  });
  const metrics = async (): Promise<string> => {
    const ofThreads = await Promise.all(node.threads.map((thread) => thread.metrics(METRICS_WAIT_MS)));
    for (const [worker, measured] of ofThreads.entries()) {
      responding.set({ worker }, measured === undefined ? 0 : 1);
    }
    const present = ofThreads.filter((measured) => measured !== undefined);
    return mergeMetrics([await registry.getMetricsAsJSON(), ...present]);
  };
  try {
    const readiness = async (): Promise<Readiness> => {
      const { head, lag, hindrances, leader, warnings = [] } = await copy.condition();
      return {
        reasons: [
          ...(node.isDraining() ? [{ reason: 'draining' } as const] : []),
          ...node.writing.hindrances,
          ...silentThreads(node.pulse, options.readyWorkerMs),
          ...hindrances,
        ],
        ...(head !== undefined && { head }),
        ...(lag !== undefined && { lag: { blocks: lag } }),
        ...(leader !== undefined && { leader }),
        ...(warnings.length > 0 && { warnings }),
      };
    };
    const { allowedHosts = [] } = options;
    return await createAdminServer(endpoint, { metrics, readiness, allowedHosts });
  } catch (error) {
    throw cannotListen('admin', endpoint, error);
  }
}
