import type { Registry } from 'prom-client';
import { timestampOf } from '../chain/header-time.ts';
import { profilesOf } from '../config/profiles.ts';
import type { CommandOptions } from '../config/table.ts';
import { ChainFacts } from '../executor/chain-facts.ts';
import type { FeedItem } from '../feed/interface.ts';
import type { ChainCopy } from '../follow/chain-copy.ts';
import type { WritingHealth } from '../follow/health/writing.ts';
import type { RpcTarget } from '../rpc/admin/pass-rpc.ts';
import { type AdminServer, createAdminServer, knownReadiness, type Readiness } from '../rpc/admin/server.ts';
import type { LiveState } from '../rpc/admin/state.ts';
import { nameOfChain } from '../rules/chains.ts';
import { forkNameAt } from '../rules/own-config.ts';
import type { ChainConfig } from '../rules/row.ts';
import type { ServingWorker } from '../serving/handle.ts';
import { cannotListen, formatEndpoint } from '../serving/listeners.ts';
import type { Endpoints } from '../serving/messages.ts';
import { metricsOf } from '../serving/metrics.ts';
import type { Store } from '../store/interface.ts';
import type { Pulse } from '../telemetry/heartbeat.ts';
import type { Logger } from '../telemetry/logger.ts';
import { redactUrls } from '../telemetry/redact.ts';
import { BUCKETS } from '../telemetry/request-times.ts';
import { Dashboard } from './dashboard.ts';
import { measuredStats, Samples, upstreamRows } from './dashboard-stats.ts';
import { measureReadiness, measureSilence } from './metrics.ts';

export interface AdminSubject {
  readonly version: string;
  /** Undefined while an ingester waits for the right to write. */
  readonly copy: () => ChainCopy | undefined;
  readonly store: () => Pick<Store, 'marks' | 'header'> | undefined;
  /** Where clients are served. */
  readonly endpoints: () => Endpoints;
  /** Has a listener told what happens to the chain. */
  readonly onFeed: (hear: (item: FeedItem) => void) => void;
  readonly registry: Registry;
  readonly threads: readonly ServingWorker[];
  readonly pulse: Pulse;
  readonly writing: WritingHealth;
  readonly isDraining: () => boolean;
  readonly logger: Logger;
}

/** It does what it is there for: whoever replaces ingesters one by one must not wait for it. */
const WAITING: Awaited<ReturnType<ChainCopy['condition']>> = {
  ...{ head: undefined, lag: undefined, issues: [] },
  warnings: ['waits for the right to write'],
};

/** Starts the listener for operators, if there is one: what the parts of the node say of themselves. */
export async function startAdmin(
  options: CommandOptions<'serve'>,
  node: AdminSubject,
): Promise<AdminServer | undefined> {
  const endpoint = options.admin;
  if (endpoint === 'off') return undefined;
  const readiness = async (): Promise<Readiness> => {
    const condition = await (node.copy()?.condition() ?? WAITING);
    const { head, lag, issues, leader, warnings = [] } = condition;
    return {
      reasons: [
        ...(node.isDraining() ? [{ reason: 'draining' } as const] : []),
        ...node.writing.issues,
        ...node.pulse.issues(options.readyWorkerMs),
        ...issues,
      ],
      ...(head !== undefined && { head }),
      ...(lag !== undefined && { lag: { blocks: lag } }),
      ...(leader !== undefined && { leader }),
      ...(warnings.length > 0 && { warnings }),
    };
  };
  measureReadiness(node.registry, readiness);
  measureSilence(node.registry, node.pulse);
  const measured = metricsOf(node.registry, node.threads);
  const metrics = async (): Promise<string> => (await measured()).metrics();
  const { allowedHosts = [] } = options;
  const shown = openDashboard(options, node, { measured, readiness });
  node.onFeed((item) => {
    try {
      shown.hear(item);
    } catch (err) {
      // Whoever looks on must not end what he looks at.
      node.logger.error({ err }, 'the dashboard failed');
    }
  });
  const dashboard = shown.modules(() => targetsOf(options, node.endpoints()));
  try {
    return await createAdminServer(endpoint, { metrics, readiness, allowedHosts, dashboard });
  } catch (error) {
    throw cannotListen('admin', endpoint, error);
  }
}

/** What the dashboard shows, of the parts that know it. */
function openDashboard(
  options: CommandOptions<'serve'>,
  node: AdminSubject,
  {
    measured,
    readiness,
  }: { readonly measured: () => Promise<Registry>; readonly readiness: () => Promise<Readiness> },
): Dashboard {
  let chain: { readonly facts: ChainFacts; readonly config: ChainConfig } | undefined;
  const known = (): typeof chain => {
    const copy = node.copy();
    if (copy !== undefined)
      chain ??= {
        facts: ChainFacts.attach(copy.executor.id),
        config: JSON.parse(copy.chainConfig) as ChainConfig,
      };
    return chain;
  };
  // A genesis file has its config inside.
  const configOf = (config: ChainConfig): ChainConfig =>
    typeof config['config'] === 'object' ? (config['config'] as ChainConfig) : config;
  const forkAt = (time: number): string | undefined => {
    const config = known()?.config;
    return config && forkNameAt(configOf(config), time);
  };
  const fees = (header: Uint8Array): ReturnType<ChainFacts['fees']> | undefined =>
    known()?.facts.fees(header);
  const firstHead = async (): Promise<LiveState['head']> => {
    const ref = (await node.store()?.marks())?.head;
    const header = ref && (await node.store()?.header(ref));
    if (ref === undefined || header === undefined) return undefined;
    const timestamp = timestampOf(header);
    const { gasUsed = 0, gasLimit = 0 } = fees(header) ?? {};
    return { ...ref, timestamp: timestamp * 1_000, gasUsed, gasLimit, fork: forkAt(timestamp) };
  };
  return new Dashboard({
    ...{ fees, forkAt, firstHead },
    facts: () => {
      const chainId = node.copy()?.executor.chainId;
      return {
        version: node.version,
        chainId: chainId?.toString(),
        chain: chainId === undefined ? undefined : nameOfChain(chainId),
        preconfirms: options.flashblocks !== undefined || options.feed !== undefined,
        follows: options.upstream !== undefined || options.store !== undefined,
        endpoints: endpointsShown(options, node.endpoints()),
        bounds: BUCKETS,
      };
    },
    stats: async () => {
      const [samples, condition] = await Promise.all([
        measured().then((registry) => Samples.of(registry)),
        knownReadiness(readiness),
      ]);
      const { reasons, warnings = [], lag, leader } = condition;
      return {
        ...measuredStats(samples),
        at: Date.now(),
        reasons: reasons.map(({ reason, detail }) => ({
          reason,
          ...(detail !== undefined && { detail: redactUrls(detail) }),
        })),
        warnings: warnings.map((text) => redactUrls(text)),
        lag: lag?.blocks,
        upstreams: upstreamRows(node.copy()?.upstreams?.() ?? [], leader),
      };
    },
  });
}

type ShownEndpoints = ReturnType<ConstructorParameters<typeof Dashboard>[0]['facts']>['endpoints'];

function endpointsShown(options: CommandOptions<'serve'>, endpoints: Endpoints): ShownEndpoints {
  const hasKeys = options.keys !== undefined || options.jwks !== undefined;
  return profilesOf(options).flatMap(({ name, auth, tlsCert }) => {
    const place = endpoints[name];
    if (place === undefined) return [];
    const address = formatEndpoint(place);
    return [{ name, address, tls: tlsCert !== undefined, keys: auth === 'keys' && hasKeys }];
  });
}

function targetsOf(
  options: CommandOptions<'serve'>,
  endpoints: Endpoints,
): Readonly<Record<string, RpcTarget>> {
  const tls = new Set(profilesOf(options).flatMap(({ name, tlsCert }) => (tlsCert ? [name] : [])));
  return Object.fromEntries(
    Object.entries(endpoints).map(([name, place]) => [name, { ...place, tls: tls.has(name) }]),
  );
}
