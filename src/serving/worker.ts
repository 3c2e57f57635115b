import { parentPort, workerData } from 'node:worker_threads';
import { Registry } from 'prom-client';
import type { Endpoint as Place } from '../config/parsers.ts';
import { profilesOf } from '../config/profiles.ts';
import type { CommandOptions } from '../config/table.ts';
import { ChainFacts } from '../executor/chain-facts.ts';
import { NativeExecutor } from '../executor/native-executor.ts';
import { servingOptions } from '../executor/options.ts';
import { FeedFollower } from '../feed/follower.ts';
import { Progress } from '../feed/progress.ts';
import { BlockJson } from '../head/block-json.ts';
import { FeeReader } from '../head/fees.ts';
import { Head } from '../head/head.ts';
import { ReceiptWaiters } from '../head/receipt-waiters.ts';
import { filterMethods } from '../methods/filters/filter-methods.ts';
import type { FilterAnswer } from '../methods/filters/host.ts';
import type { NodeServices } from '../methods/method.ts';
import { createMethods } from '../methods/registry.ts';
import { andThen } from '../primitives/awaitable.ts';
import { Gate } from '../rpc/auth/gate.ts';
import { ClientAddresses } from '../rpc/limits/client-address.ts';
import { ClientMemory } from '../rpc/limits/client-memory.ts';
import { measureClients } from '../rpc/limits/client-metrics.ts';
import { ConnectionBudget } from '../rpc/limits/connection-budget.ts';
import { HeapReclaimer } from '../rpc/limits/heap-reclaimer.ts';
import { RateTable } from '../rpc/limits/rate-table.ts';
import { ThreadLoad } from '../rpc/limits/thread-load.ts';
import { webSocketOptions } from '../rpc/ws/server.ts';
import type { ChainConfig } from '../rules/row.ts';
import { createFilterMetrics } from '../subscriptions/filters/metrics.ts';
import { FilterVersion } from '../subscriptions/filters/version.ts';
import { StreamMetrics } from '../subscriptions/metrics.ts';
import { Streams, type StreamsModules, streamsOptions } from '../subscriptions/streams/streams.ts';
import { SUBSCRIPTION_METHODS } from '../subscriptions/subscribe-methods.ts';
import { keepBeating } from '../telemetry/heartbeat.ts';
import { createLogger } from '../telemetry/logger.ts';
import { countLostLines } from '../telemetry/metrics.ts';
import { logWarnings } from '../telemetry/process-log.ts';
import { RefusalCounter } from '../telemetry/refusal-counter.ts';
import { RequestCounter } from '../telemetry/request-counter.ts';
import { RequestTimes } from '../telemetry/request-times.ts';
import { SlowRequests } from '../telemetry/slow-requests.ts';
import type { Tracing, TracingModules } from '../telemetry/tracing.ts';
import { Endpoint } from './endpoint.ts';
import { FILTER_THREAD } from './filter-router.ts';
import type { WorkerCommand, WorkerData, WorkerEvent } from './messages.ts';
import { measureWaiters } from './metrics.ts';
import { RemoteCalls } from './remote-calls.ts';
import { RemoteFilters } from './remote-filters.ts';
import { RemotePasses } from './remote-passes.ts';
import { RemoteState } from './remote-state.ts';
import { openServedStore } from './store/served-store.ts';

/** How often clients are looked at that do not take what they are sent. */
const CLIENT_CHECK_MS = 1_000;
/** Lines in the log for slow calls, of all threads together, a second. */
const MAX_SLOW_LINES = 10;

/** One thread with its own servers, on the process's shared hot state. */
async function serve({
  options,
  version,
  executorId,
  position,
  canSend,
  chainConfig,
  endpoints,
  progress,
  clientMemory,
  filterMemory,
  workerIndex,
  heartbeats,
  connections,
  credentials,
  rates,
}: WorkerData): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('a serving thread is started by the node');
  const logger = createLogger(options.logLevel);
  logWarnings(logger);
  keepBeating(heartbeats, workerIndex);
  const registry = new Registry();
  countLostLines(registry);
  const requests = new RequestCounter(registry);
  const times = new RequestTimes(registry);
  const maxLines = Math.max(1, Math.floor(MAX_SLOW_LINES / options.threads));
  const slow = new SlowRequests({ ms: options.slowRequestMs, maxLines }, { registry, logger });
  const refusals = new RefusalCounter(registry);
  const tracing = await openTracing(options, version, { registry, logger });
  const served = await openServedStore(options, position);
  const { store } = served;
  const say = (news: WorkerEvent): void => port.postMessage(news);
  const state = new RemoteState(store, options.stateTimeoutMs, say);
  const calls = new RemoteCalls(options.stateTimeoutMs, say);
  const passes = new RemotePasses(options.stateTimeoutMs, say);
  const executor = NativeExecutor.attach(executorId, servingOptions(options), {
    load: state.load,
    tries: store,
  });
  const json = new BlockJson({
    header: (header, hash) => executor.headerJson(header, hash),
    block: (pieces, hash) => executor.blockJson(pieces, hash),
    transactions: (contents, first, hash, only) => executor.transactionsJson(contents, first, hash, only),
    rawBlock: (pieces) => executor.rawBlock(pieces),
    rawTransaction: (block, index) => executor.rawTransaction(block, index),
    rawReceipts: (header, receipts) => executor.rawReceipts(header, receipts),
  });
  const head = await Head.open(
    {
      renderCacheBytes: options.renderCacheBytes,
      viewCacheEntries: options.historicalViews,
      stateBelowAnchor: options.archive !== undefined,
    },
    { store, executor, json },
  );
  const streamMetrics = new StreamMetrics(registry);
  const filterVersion = new FilterVersion(filterMemory);
  const keepsFilters = workerIndex === FILTER_THREAD;
  const streams = new Streams(streamsOptions(options), {
    tip: head.snapshot().head,
    history: {
      logs: (query, from, to, checkpoint) => head.snapshot().findLogs(query, from, to, checkpoint),
      isCanonical: ({ number, hash }) => andThen(store.canonicalHash(number), (known) => known === hash),
    },
    json,
    readState: (read) =>
      head.read(async (snapshot) => read(await snapshot.viewAt({ kind: 'tag', tag: 'pending' }))),
    metrics: streamMetrics,
    filters: keepsFilters ? filterModules(options, registry, filterVersion) : undefined,
    onFault: (error) => logger.error({ err: error }, 'a stream failed'),
  });
  const facts = ChainFacts.attach(executorId);
  const receipts = new ReceiptWaiters(head, { max: options.syncWaiting });
  measureWaiters(registry, receipts);
  const { passOn } = passes;
  const services: NodeServices = {
    ...{ facts, fees: new FeeReader(facts), receipts, passOn, canSend },
    prover: executor,
    chainConfig: JSON.parse(chainConfig) as ChainConfig,
  };
  const remoteFilters = new RemoteFilters(options.requestTimeoutMs, { say, version: filterVersion });
  const filters = streams.filters ?? remoteFilters;
  const above = [...SUBSCRIPTION_METHODS, ...filterMethods(filters)];
  const methods = createMethods(version, above, options.forward);
  const memory = new ClientMemory(
    { maxBytes: options.clientBytes, sendTimeoutMs: options.sendTimeoutMs },
    { shares: clientMemory, workerIndex },
  );
  measureClients(registry, memory);
  const reclaimer = new HeapReclaimer({ held: () => memory.bytes });
  const checking = setInterval(() => {
    memory.tick(CLIENT_CHECK_MS);
    streams.filters?.expire();
    reclaimer.look();
  }, CLIENT_CHECK_MS);
  const gate = await Gate.open(credentials.files);
  const rateTable = new RateTable(rates);
  const addresses = new ClientAddresses(options.trustedProxies);
  const load = new ThreadLoad();
  const watching = load.watch();
  const open: Endpoint[] = [];
  const bound: Record<string, Place> = {};
  for (const profile of profilesOf(options)) {
    const place = endpoints[profile.name];
    if (place === undefined) continue;
    const { name: listener } = profile;
    const count = requests.of(listener);
    const observe = times.of(listener);
    const hear = slow.of(listener);
    const trace = tracing?.of(listener, profile.auth === 'keys');
    const endpoint = await Endpoint.open(
      { profile, options, tls: credentials.tls[listener] },
      {
        ...{ chainId: executor.chainId, version, services },
        ...{ place, head, methods, memory, gate, addresses, rateTable, load },
        forward: options.nativeContracts === 'forward' ? calls.forward : undefined,
        onServed: (method, code, seconds, request) => {
          count(method, code);
          observe(method, code, seconds);
          hear(method, code, seconds, request);
        },
        onAnswered:
          trace &&
          ((task, { status, snapshot }) => {
            const { began, traceparent, errorCode } = task;
            const names = (): readonly string[] => task.methods(methods);
            trace({ began, traceparent, errorCode, status, head: snapshot?.head.number, methods: names });
          }),
        onRefused: refusals.of(listener),
        connections: new ConnectionBudget(connections.memory, connections.limit),
        websocket: { options: webSocketOptions(options), subscriber: streams, metrics: streamMetrics },
        onFault: (error) => logger.error({ err: error, listener }, 'listener failed'),
        onCallFault: (method, error, { requestId }) =>
          logger.error({ err: error, method, listener, requestId }, 'request failed'),
      },
    );
    open.push(endpoint);
    bound[listener] = { host: place.host, port: endpoint.server.address.port };
  }
  const change = (changed: WorkerData['options']): void => {
    logger.level = changed.logLevel;
    addresses.trust(changed.trustedProxies);
    const profiles = profilesOf(changed);
    for (const endpoint of open) {
      const profile = profiles.find(({ name }) => name === endpoint.name);
      if (profile !== undefined) endpoint.change(profile, changed);
    }
  };
  const feed = new FeedFollower(new Progress(progress, workerIndex), {
    apply: (event, at) => served.follow(event, at, () => head.apply(event)),
    publish: (event) => {
      receipts.hear(event);
      streams.publish(event);
    },
    // A thread that has lost the feed must not go on answering: with it the whole node ends.
    onFailure: (error) =>
      setImmediate(() => {
        throw error;
      }),
  });
  const close = async (): Promise<void> => {
    await Promise.all([feed.stop(), ...open.map(({ server }) => server.close())]);
    clearInterval(checking);
    watching[Symbol.dispose]();
    await Promise.all([tracing?.close(), store.close()]);
    port.close();
  };
  const answerFilter = async ({
    id,
    question,
  }: Extract<WorkerCommand, { kind: 'filter' }>): Promise<void> => {
    const answer = await filters.ask(question).catch((error: unknown): FilterAnswer => {
      logger.error({ err: error }, 'a filter failed');
      return { kind: 'failed' };
    });
    if (id !== 0) say({ kind: 'filtered', id, answer });
  };
  port.on('message', (order: WorkerCommand) => {
    switch (order.kind) {
      case 'close':
        return void close();
      case 'metrics':
        return void registry.getMetricsAsJSON().then((metrics) => say({ kind: 'metrics', metrics }));
      case 'credentials':
        for (const { name, server } of open) server.renew(order.tls[name]);
        return void gate.change(order.files).then(() => {
          for (const { server } of open) server.recheck();
        });
      case 'options':
        return change(order.options);
      case 'feed':
        return feed.take(order.sequence, order.item, order.position);
      case 'loaded':
      case 'unavailable':
      case 'refused':
        return state.hear(order);
      case 'forwarded':
        return calls.hear(order);
      case 'filtered':
        return remoteFilters.hear(order);
      case 'filter':
        return void answerFilter(order);
      case 'passed':
        return passes.hear(order);
    }
  });
  say({ kind: 'listening', endpoints: bound });
}

/** Loads what traces requests, where that is asked for. */
async function openTracing(
  { otlp, traceRatio }: CommandOptions<'serve'>,
  version: string,
  modules: TracingModules,
): Promise<Tracing | undefined> {
  if (otlp === undefined) return undefined;
  const { Tracing: Loaded } = await import('../telemetry/tracing.ts');
  return new Loaded({ url: otlp, ratio: traceRatio, version }, modules);
}

function filterModules(
  options: CommandOptions<'serve'>,
  registry: Registry,
  version: FilterVersion,
): StreamsModules['filters'] {
  return {
    options: {
      maxFilters: options.filters,
      maxPerClient: options.filtersPerClient,
      timeoutMs: options.filterTimeoutMs,
      maxBytes: options.filterBytes,
    },
    metrics: createFilterMetrics(registry),
    version,
  };
}

await serve(workerData as WorkerData);
