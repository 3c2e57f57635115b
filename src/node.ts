import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
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
  const cleanups: (() => Promise<void>)[] = [() => store.close()];
  const close = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const genesis = await store.getMeta(GENESIS_META);
    if (genesis === undefined) throw new Error(`${options.data} holds no chain: import one first`);
    const executor = NativeExecutor.create(chainConfigOf(genesis), servingOptions(options), {
      load: storeLoader(store),
    });
    await restoreHotState(executor, store, options.undoWindow);
    const threads: ServingThread[] = [];
    cleanups.push(async () => {
      await Promise.all(threads.map((thread) => thread.close()));
    });
    let endpoints = wantedEndpoints(options);
    for (let index = 0; index < options.threads; index++) {
      const thread = new ServingThread({ options, version, executorId: executor.id, endpoints }, logger);
      threads.push(thread);
      // The first thread is given port 0 where that was asked for; the others join the port it got.
      endpoints = await thread.listening;
    }
    const admin = await startAdmin(options, executor, threads);
    if (admin !== undefined) cleanups.push(() => admin.close());
    return { addresses: addressesOf(endpoints, admin), close };
  } catch (error) {
    await close();
    throw error;
  }
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
  threads: readonly ServingThread[],
): Promise<AdminServer | undefined> {
  if (options.admin === 'off') return undefined;
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
  return createAdminServer(options.admin, {
    metrics: async () => {
      const ofThreads = await Promise.all(threads.map((thread) => thread.metrics()));
      return mergeMetrics([await registry.getMetricsAsJSON(), ...ofThreads]);
    },
  });
}

/** A worker thread that serves, as the main thread sees it. */
class ServingThread {
  readonly listening: Promise<Endpoints>;
  readonly #worker: Worker;
  #closing = false;

  constructor(data: ThreadData, logger: Logger) {
    // The compiled program runs the compiled file.
    const file = import.meta.url.endsWith('.ts') ? './serving-thread.ts' : './serving-thread.js';
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: data });
    this.listening = this.#next('listening').then((news) => news.endpoints);
    this.#worker.on('error', (error) => {
      logger.fatal({ err: error }, 'a serving thread failed');
      // Half a node that answers at random is worse than none: whoever supervises it starts it again.
      if (!this.#closing) process.exitCode = 1;
    });
  }

  async metrics(): Promise<unknown> {
    const answer = this.#next('metrics');
    this.#say({ kind: 'metrics' });
    return (await answer).metrics;
  }

  async close(): Promise<void> {
    this.#closing = true;
    const exited = once(this.#worker, 'exit');
    this.#say({ kind: 'close' });
    await exited;
  }

  #say(order: ThreadOrder): void {
    this.#worker.postMessage(order);
  }

  #next<K extends ThreadNews['kind']>(kind: K): Promise<Extract<ThreadNews, { kind: K }>> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.#worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      };
      const onMessage = (news: ThreadNews): void => {
        if (news.kind !== kind) return;
        stop();
        resolve(news as Extract<ThreadNews, { kind: K }>);
      };
      const onError = (error: unknown): void => {
        stop();
        reject(error instanceof Error ? error : new Error(String(error)));
      };
      const onExit = (): void => {
        stop();
        reject(new Error('a serving thread ended'));
      };
      this.#worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    });
  }
}
