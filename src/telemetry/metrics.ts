import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** Makes a registry of its own, so that two nodes in one process never share or collide on metrics. */
export function createMetricsRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'chain_query_' });
  return registry;
}

/** Makes counters under this program's prefix. */
export function countersIn(registry: Registry) {
  return (name: string, help: string, labelNames: readonly string[] = []): Counter =>
    new Counter({ name: `chain_query_${name}`, help, labelNames, registers: [registry] });
}

/** Measures what the heap of this thread holds; all threads are added up. */
export function measureHeap(registry: Registry): void {
  const gauge: Gauge = new Gauge({
    name: 'chain_query_thread_memory_bytes',
    help: 'Memory of the JavaScript heaps of serving threads: heap, and what it keeps outside of it.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      const { heapUsed, external } = process.memoryUsage();
      gauge.set({ kind: 'heap' }, heapUsed);
      gauge.set({ kind: 'external' }, external);
    },
  });
}

/** Adds up what several threads measured and renders it for Prometheus. */
export function mergeMetrics(all: readonly unknown[]): Promise<string> {
  return AggregatorRegistry.aggregate(all as Parameters<typeof AggregatorRegistry.aggregate>[0]).metrics();
}
