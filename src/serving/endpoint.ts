import type { Profile } from '../config/profiles.ts';
import type { CommandOptions } from '../config/table.ts';
import type { MethodSettings, NodeServices } from '../methods/method.ts';
import type { Gate } from '../rpc/auth/gate.ts';
import { Dispatcher, type DispatcherModules, type DispatcherOptions } from '../rpc/dispatch/dispatcher.ts';
import { createHttpServer, type HttpServer, type HttpServerModules } from '../rpc/http/server.ts';
import type { RateTable } from '../rpc/limits/rate-table.ts';
import { type RateOptions, Rates } from '../rpc/limits/rates.ts';
import type { ListenerTls } from './messages.ts';

type ServeOptions = CommandOptions<'serve'>;

/** What the settings of methods have beside the options. */
export interface EndpointFacts {
  readonly chainId: bigint;
  readonly version: string;
  readonly services: NodeServices;
}

export interface EndpointModules
  extends EndpointFacts,
    Omit<DispatcherModules, 'onFault'>,
    Omit<HttpServerModules, 'dispatcher' | 'rates' | 'gate' | 'onFault'> {
  readonly gate: Gate;
  readonly rateTable: RateTable;
  /** Hears of what should never happen to the listener, and of calls that fail by a fault of ours. */
  readonly onFault: (error: unknown) => void;
  readonly onCallFault: NonNullable<DispatcherModules['onFault']>;
}

/** One endpoint of a serving thread: a listener that goes by its profile. */
export class Endpoint {
  readonly name: string;
  readonly server: HttpServer;
  readonly #dispatcher: Dispatcher;
  readonly #rates: Rates;
  readonly #modules: EndpointModules;

  private constructor(
    name: string,
    modules: EndpointModules,
    parts: { readonly server: HttpServer; readonly dispatcher: Dispatcher; readonly rates: Rates },
  ) {
    this.name = name;
    this.server = parts.server;
    this.#dispatcher = parts.dispatcher;
    this.#rates = parts.rates;
    this.#modules = modules;
  }

  /** Begins to listen. */
  static async open(
    { profile, options, tls }: { profile: Profile; options: ServeOptions; tls: ListenerTls | undefined },
    modules: EndpointModules & { readonly place: { readonly host: string; readonly port: number } },
  ): Promise<Endpoint> {
    const { gate, rateTable, onFault, onCallFault, place, ...shared } = modules;
    const dispatcher = new Dispatcher(dispatcherOptions(profile, options, modules), {
      ...shared,
      onFault: onCallFault,
    });
    const rates = new Rates(rateOptions(profile, options), rateTable);
    const server = await createHttpServer(
      {
        ...place,
        tls,
        front: options.httpFront,
        reusePort: true,
        maxBodyBytes: options.maxBodyBytes,
        maxConnections: options.maxConnections,
        maxInFlight: options.maxInFlight,
        headersTimeoutMs: options.requestTimeoutMs,
        requestTimeoutMs: options.requestTimeoutMs,
        keepAliveTimeoutMs: options.keepAliveMs,
        // The main thread keeps the time: past it the process ends, and says that requests were cut off.
        drainTimeoutMs: 2 * options.shutdownTimeoutMs,
        allowAnyOrigin: profile.origins === 'any',
        allowedHosts: options.allowedHosts ?? [],
        limitLoopback: options.limitLoopback,
        compressAbove: options.compressAbove,
        readsTraceparent: options.otlp !== undefined,
      },
      { ...shared, dispatcher, rates, gate: profile.auth === 'keys' ? gate : undefined, onFault },
    );
    return new Endpoint(profile.name, modules, { server, dispatcher, rates });
  }

  /** Goes by other options from now on: those that can change while it listens. */
  change(profile: Profile, options: ServeOptions): void {
    this.#dispatcher.change(dispatcherOptions(profile, options, this.#modules));
    this.#rates.change(rateOptions(profile, options));
  }
}

/** How the clients of an endpoint are limited. */
function rateOptions(profile: Profile, options: ServeOptions): RateOptions {
  return {
    perSecond: profile.rate,
    burstSeconds: options.rateBurst,
    limitLoopback: options.limitLoopback,
  };
}

function dispatcherOptions(
  profile: Profile,
  options: ServeOptions,
  { methods, ...facts }: EndpointFacts & Pick<DispatcherModules, 'methods'>,
): DispatcherOptions {
  const notPublic = [...methods.values()].filter(({ dedicatedOnly }) => dedicatedOnly);
  return {
    settings: methodSettings(profile, options, facts),
    maxBatch: profile.batchEntries,
    maxElements: options.maxBodyElements,
    maxResponseBytes: options.maxResponseBytes,
    answerTimeoutMs: options.requestTimeoutMs,
    atLeastWaitMs: options.atLeastWaitMs,
    maxAtLeastWaiting: options.atLeastWaiting,
    forbidden: new Set(profile.auth === 'none' ? notPublic.map(({ name }) => name) : []),
    only: profile.methods && new Set(profile.methods),
  };
}

function methodSettings(
  profile: Profile,
  options: ServeOptions,
  { chainId, version, services }: EndpointFacts,
): MethodSettings {
  return {
    chainId,
    clientVersion: `chain-query/v${version}/${process.platform}-${process.arch}/node${process.versions.node}`,
    compat: options.compat === 'execution-apis',
    gasCap: BigInt(options.callGasCap),
    callTimeLimitMs: options.callTimeLimitMs,
    maxFeeHistoryBlocks: options.feeHistoryBlocks,
    sync: { timeoutMs: options.syncTimeoutMs, maxTimeoutMs: options.syncTimeoutMaxMs },
    poolNonce: options.poolNonce,
    keptBlocks: options.history?.ms === 0 ? options.history.blocks : undefined,
    services,
    loads: { values: profile.stateReads, bytes: options.requestStateBytes },
    simulation: {
      maxBlocks: options.simulateBlocks,
      maxCalls: options.simulateCalls,
      gas: options.simulateGas,
      maxResponseBytes: options.maxResponseBytes,
      timeLimitMs: options.simulateTimeLimitMs,
    },
    logs: {
      maxBlockRange: profile.logsRange,
      maxResults: profile.logsResults,
      maxAddresses: options.logsAddresses,
      maxTopics: options.logsTopics,
      maxResponseBytes: options.maxResponseBytes,
      timeLimitMs: options.logsTimeLimitMs,
    },
  };
}
