import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Gauge } from 'prom-client';
import type { Endpoint } from './config/parsers.ts';
import type { CommandOptions } from './config/table.ts';
import { NativeExecutor } from './executor/native-executor.ts';
import { servingOptions } from './executor/options.ts';
import { chainConfigOf, GENESIS_META, restoreHotState, storeLoader } from './ingest/restore.ts';
import { type AdminServer, createAdminServer } from './rpc/admin-server.ts';
import {
  LISTENERS,
  type Listener,
  type ThreadData,
  type ThreadNews,
  type ThreadOrder,
} from './serving-thread-messages.ts';
import type { Store } from './store/interface.ts';
import { openLmdbStore } from './store/lmdb/index.ts';
import type { Logger } from './telemetry/logger.ts';
import { createMetricsRegistry, mergeMetrics } from './telemetry/metrics.ts';

/** A running node. */
export interface Node {
  /** Where it listens, as `host:port`; a listener that is off is absent. */
  readonly addresses: Readonly<Partial<Record<Listener | 'admin', string>>>;
  /** Aborted, with the reason, when it cannot go on: half a node that answers at random is worse than none. */
  readonly failed: AbortSignal;
  /** Lets requests under way finish, then stops. */
  close(): Promise<void>;
}

type Endpoints = Readonly<Partial<Record<Listener, Endpoint>>>;

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

/** Starts serving a store: one shared hot state, several threads with their own servers on the same ports. */
export async function startNode(
  options: CommandOptions<'serve'>,
  { logger }: { readonly logger: Logger },
): Promise<Node> {
  if (!existsSync(options.data)) throw new Error(`${options.data} does not exist: import a chain first`);
  const store: Store = await openLmdbStore({
    path: options.data,
    undoWindow: options.undoWindow,
    mapSizeBytes: options.storeMapSize,
  });
  const cleanups: (() => Promise<void> | undefined)[] = [() => store.close()];
  const failure = new AbortController();
  let notReady: string | undefined;
  const close = async (): Promise<void> => {
    notReady = 'draining';
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const genesis = await store.getMeta(GENESIS_META);
    if (genesis === undefined) throw new Error(`${options.data} holds no chain: import one first`);
    let endpoints = wantedEndpoints(options);
    await expectFree(endpoints);
    const executor = NativeExecutor.create(chainConfigOf(genesis), servingOptions(options), {
      load: storeLoader(store),
    });
    await restoreHotState(executor, store, options.undoWindow);
    const threads: ServingThread[] = [];
    // Closed after the threads: whoever asks for its health while they drain hears of it.
    let admin: AdminServer | undefined;
    cleanups.push(() => admin?.close());
    cleanups.push(async () => {
      await Promise.all(threads.map((thread) => thread.close()));
    });
    for (let index = 0; index < options.threads; index++) {
      const data: ThreadData = { options, version, executorId: executor.id, endpoints };
      const thread = new ServingThread(data, (error) => failure.abort(error));
      threads.push(thread);
      // The first thread is given port 0 where that was asked for; the others join the port it got.
      endpoints = await thread.listening;
    }
    admin = await startAdmin(options, executor, { threads, notReady: () => notReady });
    failure.signal.throwIfAborted();
    failure.signal.addEventListener('abort', () => {
      logger.fatal({ err: failure.signal.reason }, 'a serving thread failed');
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

function cannotListen(listener: string, endpoint: Endpoint, cause: unknown): Error {
  return new Error(`the ${listener} listener cannot use ${formatEndpoint(endpoint)}`, { cause });
}

function wantedEndpoints(options: CommandOptions<'serve'>): Endpoints {
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

async function startAdmin(
  options: CommandOptions<'serve'>,
  executor: NativeExecutor,
  node: { readonly threads: readonly ServingThread[]; readonly notReady: () => string | undefined },
): Promise<AdminServer | undefined> {
  const endpoint = options.admin;
  if (endpoint === 'off') return undefined;
  const registry = createMetricsRegistry();
  const gauges = [
    ['chain_query_hot_accounts', 'Accounts held in hot state.', 'accounts'],
    ['chain_query_hot_slots', 'Storage slots held in hot state.', 'slots'],
    ['chain_query_pooled_calls', 'Long calls waiting or running.', 'pooledCalls'],
  ] as const;
  for (const [name, help, size] of gauges) {
    const collect = (): void => gauge.set(executor.sizes()[size]);
    const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect });
  }
  const metrics = async (): Promise<string> => {
    const ofThreads = await Promise.all(node.threads.map((thread) => thread.metrics()));
    return mergeMetrics([await registry.getMetricsAsJSON(), ...ofThreads]);
  };
  try {
    return await createAdminServer(endpoint, { metrics, notReady: node.notReady });
  } catch (error) {
    throw cannotListen('admin', endpoint, error);
  }
}

interface Waiting {
  readonly kind: ThreadNews['kind'];
  readonly resolve: (news: ThreadNews) => void;
  readonly reject: (error: Error) => void;
}

/** A worker thread that serves, as the main thread sees it. */
class ServingThread {
  readonly listening: Promise<Endpoints>;
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  readonly #waiting = new Set<Waiting>();
  #closing = false;
  /** Set once it has ended, for whatever reason. */
  #end: Error | undefined;

  constructor(data: ThreadData, onFailure: (error: Error) => void) {
    // The compiled program runs the compiled file.
    const file = import.meta.url.endsWith('.ts') ? './serving-thread.ts' : './serving-thread.js';
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: data });
    let cause: unknown;
    this.#worker.on('error', (error) => {
      cause = error;
    });
    this.#worker.on('message', (news: ThreadNews) => {
      for (const waiting of this.#waiting) if (waiting.kind === news.kind) waiting.resolve(news);
    });
    this.#exited = new Promise((resolve) => this.#worker.on('exit', resolve));
    this.#worker.on('exit', () => {
      const end = new Error('a serving thread ended', { cause });
      this.#end = end;
      for (const waiting of this.#waiting) waiting.reject(end);
      if (!this.#closing) onFailure(end);
    });
    this.listening = this.#next('listening').then((news) => news.endpoints);
  }

  async metrics(): Promise<unknown> {
    const answer = this.#next('metrics');
    this.#say({ kind: 'metrics' });
    return (await answer).metrics;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#say({ kind: 'close' });
    await this.#exited;
  }

  #say(order: ThreadOrder): void {
    this.#worker.postMessage(order);
  }

  async #next<K extends ThreadNews['kind']>(kind: K): Promise<Extract<ThreadNews, { kind: K }>> {
    if (this.#end !== undefined) throw this.#end;
    const { promise, resolve, reject } = Promise.withResolvers<ThreadNews>();
    const waiting = { kind, resolve, reject };
    this.#waiting.add(waiting);
    try {
      return (await promise) as Extract<ThreadNews, { kind: K }>;
    } finally {
      this.#waiting.delete(waiting);
    }
  }
}
