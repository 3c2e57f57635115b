import { Gauge, type Registry } from 'prom-client';
import type { Shares } from '../primitives/shares.ts';
import { countersIn, mergeMetrics } from '../telemetry/metrics.ts';
import type { ServingWorker } from './handle.ts';

/** How long metrics wait for a worker; those of the others are given without it. */
const METRICS_WAIT_MS = 1_000;

/** What to call for each read of state that serving threads ask for. */
export interface StateReadCounts {
  readonly onAsked: () => void;
  readonly onRefused: () => void;
}

/** Measures what requests have read from upstreams. */
export function measureStateReads(registry: Registry, shares: Shares): StateReadCounts {
  const counter = countersIn(registry);
  const rounds = counter(
    'request_rounds_total',
    'Times that a request lacked state that neither memory nor the store had.',
  );
  const refused = counter('state_reads_refused_total', 'Reads of state refused at once.');
  const gauge: Gauge = new Gauge({
    name: 'chain_query_state_reads_in_flight',
    help: 'Values of state that requests wait for.',
    registers: [registry],
    collect: () => gauge.set(shares.taken),
  });
  return { onAsked: () => rounds.inc(), onRefused: () => refused.inc() };
}

/** Measures how many wait for the receipt of what they sent. */
export function measureWaiters(registry: Registry, waiters: { readonly count: number }): void {
  const gauge: Gauge = new Gauge({
    name: 'chain_query_receipt_waiters',
    help: 'Requests that wait for the receipt of the transaction they sent.',
    registers: [registry],
    collect: () => gauge.set(waiters.count),
  });
}

/** Gives a function that reads the metrics of the main thread and of every worker that answers, added up. */
export function metricsOf(registry: Registry, workers: readonly ServingWorker[]): () => Promise<Registry> {
  const responding = new Gauge({
    name: 'chain_query_worker_responding',
    help: '1 for each serving thread whose measures are in here, 0 for one that did not answer.',
    labelNames: ['worker'],
    registers: [registry],
  });
  return async () => {
    const measured = await Promise.all(workers.map((worker) => worker.metrics(METRICS_WAIT_MS)));
    for (const [worker, metrics] of measured.entries()) {
      responding.set({ worker }, metrics === undefined ? 0 : 1);
    }
    const present = measured.filter((metrics) => metrics !== undefined);
    return mergeMetrics([await registry.getMetricsAsJSON(), ...present]);
  };
}
