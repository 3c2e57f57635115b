import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { stderrLog } from './log/log-destination.ts';

/** Makes a registry of its own, so that two nodes in one process never share or collide on metrics. */
export function createMetricsRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'chain_query_' });
  countLostLines(registry);
  return registry;
}

/** Makes counters under this program's prefix. */
export function countersIn(registry: Registry) {
  return (name: string, help: string, labelNames: readonly string[] = []): Counter =>
    new Counter({ name: `chain_query_${name}`, help, labelNames, registers: [registry] });
}

/** Makes gauges under this program's prefix, whose values are read when the metrics are asked for. */
export function gaugesIn(registry: Registry) {
  return (
    name: string,
    help: string,
    labelNames: readonly string[],
    collect: (gauge: Gauge) => void | Promise<void>,
  ): void => {
    const gauge: Gauge = new Gauge({
      name: `chain_query_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect: () => collect(gauge),
    });
  };
}

/** Makes counters under this program's prefix of what is counted elsewhere. */
export function totalsIn(registry: Registry) {
  return (name: string, help: string, read: () => number): void => {
    const counter: Counter = new Counter({
      name: `chain_query_${name}`,
      help,
      registers: [registry],
      collect() {
        counter.reset();
        counter.inc(read());
      },
    });
  };
}

/** Counts the log lines of this thread that could not be written; all threads are added up. */
export function countLostLines(registry: Registry): void {
  let counted = 0;
  const counter: Counter = new Counter({
    name: 'chain_query_log_lines_lost_total',
    help: 'Log lines that could not be written.',
    registers: [registry],
    collect() {
      counter.inc(stderrLog.lost - counted);
      counted = stderrLog.lost;
    },
  });
}

/** Adds up what several threads measured. */
export function mergeMetrics(all: readonly unknown[]): Registry {
  return AggregatorRegistry.aggregate(all as Parameters<typeof AggregatorRegistry.aggregate>[0]);
}
