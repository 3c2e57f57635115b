import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';

/** Makes a registry of its own, so that two nodes in one process never share or collide on metrics. */
export function createMetricsRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'chain_query_' });
  return registry;
}

/** Adds up what several threads measured and renders it for Prometheus. */
export function mergeMetrics(all: readonly unknown[]): Promise<string> {
  return AggregatorRegistry.aggregate(all as Parameters<typeof AggregatorRegistry.aggregate>[0]).metrics();
}
