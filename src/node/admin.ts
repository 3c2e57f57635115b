import type { Registry } from 'prom-client';
import type { CommandOptions } from '../config/table.ts';
import type { ChainCopy } from '../follow/chain-copy.ts';
import type { WritingHealth } from '../follow/health/writing.ts';
import { type AdminServer, createAdminServer, type Readiness } from '../rpc/admin/server.ts';
import type { ServingWorker } from '../serving/handle.ts';
import { cannotListen } from '../serving/listeners.ts';
import { metricsOf } from '../serving/metrics.ts';
import type { Pulse } from '../telemetry/heartbeat.ts';
import { measureReadiness, measureSilence } from './metrics.ts';

export interface AdminSubject {
  /** Undefined while an ingester waits for the right to write. */
  readonly copy: () => ChainCopy | undefined;
  readonly registry: Registry;
  readonly threads: readonly ServingWorker[];
  readonly pulse: Pulse;
  readonly writing: WritingHealth;
  readonly isDraining: () => boolean;
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
  const metrics = metricsOf(node.registry, node.threads);
  const { allowedHosts = [] } = options;
  try {
    return await createAdminServer(endpoint, { metrics, readiness, allowedHosts });
  } catch (error) {
    throw cannotListen('admin', endpoint, error);
  }
}
