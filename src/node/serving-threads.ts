import type { Registry } from 'prom-client';
import type { CommandOptions } from '../config/table.ts';
import type { PublishToFeed } from '../feed/interface.ts';
import { appliedEverywhere, newProgress, type ProgressMemory } from '../feed/progress.ts';
import type { ChainCopy } from '../follow/chain-copy.ts';
import { Shares } from '../primitives/shares.ts';
import { newClientMemoryShares } from '../rpc/limits/client-memory.ts';
import { newConnectionMemory } from '../rpc/limits/connection-budget.ts';
import { newRateMemory } from '../rpc/limits/rate-table.ts';
import { FILTER_THREAD, FilterRouter, newFilterMemory } from '../serving/filter-router.ts';
import { ServingWorker, type WorkerModules } from '../serving/handle.ts';
import type { Credentials, Endpoints, WorkerCommand, WorkerData } from '../serving/messages.ts';
import { measureStateReads } from '../serving/metrics.ts';
import { type HeartbeatMemory, newHeartbeats } from '../telemetry/heartbeat.ts';

interface StartModules extends Pick<WorkerModules, 'onFailure'> {
  readonly options: CommandOptions<'serve'>;
  readonly version: string;
  readonly chain: ChainCopy;
  readonly credentials: Credentials;
  /** Of all threads together. */
  readonly maxConnections: number;
  readonly registry: Registry;
}

/** The threads that serve clients: each has its own servers, on the same ports as all others. */
export class ServingThreads {
  readonly heartbeats: HeartbeatMemory;
  /** Those that have been started. */
  readonly running: readonly ServingWorker[];
  readonly #running: ServingWorker[] = [];
  readonly #count: number;
  readonly #progress: ProgressMemory;
  /** Of the last item of the feed. */
  #sequence = 0;
  #isClosing = false;

  constructor(count: number) {
    this.#count = count;
    this.running = this.#running;
    this.heartbeats = newHeartbeats(count);
    this.#progress = newProgress(count);
  }

  /** Starts all of them; where they listen, with the port that was given where any was asked for. */
  async start(wanted: Endpoints, modules: StartModules): Promise<Endpoints> {
    const { options, chain } = modules;
    const shares = new Shares(options.stateReadsInFlight);
    const filters = new FilterRouter(() => {
      const keeper = this.#running[FILTER_THREAD];
      return keeper && ((order) => keeper.say(order));
    });
    const workerModules: WorkerModules = {
      ...{ load: chain.load, forward: chain.forward, passOn: chain.passOn },
      ...{ shares, filters, ...measureStateReads(modules.registry, shares), onFailure: modules.onFailure },
    };
    const shared = this.#sharedBy(modules);
    let endpoints = wanted;
    const startOne = (): Promise<Endpoints> => {
      const workerIndex = this.#running.length;
      const data = { ...shared, endpoints, workerIndex, position: chain.position?.() };
      const thread = new ServingWorker(data, workerModules);
      this.#running.push(thread);
      return thread.listening;
    };
    if (this.#count === 0) return endpoints;
    // Where port 0 was asked for, the first thread is given one, and the others join it. Else they start together.
    if (Object.values(endpoints).some(({ port }) => port === 0)) endpoints = await startOne();
    await Promise.all(Array.from({ length: this.#count - this.#running.length }, startOne));
    return endpoints;
  }

  #sharedBy(modules: StartModules): Omit<WorkerData, 'endpoints' | 'workerIndex' | 'position'> {
    const { options, version, chain, credentials, maxConnections } = modules;
    return {
      ...{ options, version, credentials, executorId: chain.executor.id },
      ...{ canSend: chain.canSend, chainConfig: chain.chainConfig },
      ...{ progress: this.#progress, heartbeats: this.heartbeats, rates: newRateMemory() },
      ...{ clientMemory: newClientMemoryShares(this.#count), filterMemory: newFilterMemory() },
      connections: { memory: newConnectionMemory(), limit: maxConnections },
    };
  }

  /** Tells all of them of an item of the feed; resolves once each can answer from it. */
  readonly feed: PublishToFeed = async (item, position) => {
    // What happens before there are threads, they find in the store.
    if (this.#running.length === 0) return;
    this.#sequence++;
    const own = this.#sequence;
    for (const thread of this.#running) thread.feed(own, item, position);
    await appliedEverywhere(this.#progress, own, () => this.#isClosing);
  };

  /** Tells all of them. */
  say(order: WorkerCommand): void {
    for (const thread of this.#running) thread.say(order);
  }

  /** Lets requests under way finish, then ends them. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.#running.map((thread) => thread.close()));
  }
}
