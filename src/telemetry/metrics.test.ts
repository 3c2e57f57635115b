import { expect, it } from 'vitest';
import { createMetricsRegistry } from './metrics.ts';

it('keeps registries apart and renders process metrics', async () => {
  const [first, second] = [createMetricsRegistry(), createMetricsRegistry()];
  expect(first).not.toBe(second);
  expect(await first.metrics()).toContain('chain_query_process_cpu_seconds_total');
});
