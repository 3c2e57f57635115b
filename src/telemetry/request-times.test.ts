import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { mergeMetrics } from './metrics.ts';
import { RequestTimes } from './request-times.ts';

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.startsWith('chain'));
}

it('counts each call in all buckets from its own up, by method, listener and outcome', async () => {
  const registry = new Registry();
  const observe = new RequestTimes(registry).of('public');
  observe('eth_call', undefined, 0.0005);
  observe('eth_call', undefined, 0.3);
  observe('eth_call', undefined, 60);
  observe('eth_call', -32_000, 0.002);
  const lines = linesOf(await registry.metrics());
  const ok = 'method="eth_call",listener="public",outcome="ok"';
  expect(lines).toContain(`chain_query_request_seconds_bucket{le="0.0005",${ok}} 1`);
  expect(lines).toContain(`chain_query_request_seconds_bucket{le="0.25",${ok}} 1`);
  expect(lines).toContain(`chain_query_request_seconds_bucket{le="0.5",${ok}} 2`);
  expect(lines).toContain(`chain_query_request_seconds_bucket{le="10",${ok}} 2`);
  expect(lines).toContain(`chain_query_request_seconds_bucket{le="+Inf",${ok}} 3`);
  expect(lines).toContain(`chain_query_request_seconds_sum{${ok}} 60.3005`);
  expect(lines).toContain(`chain_query_request_seconds_count{${ok}} 3`);
  expect(lines).toContain(
    'chain_query_request_seconds_bucket{le="0.0025",method="eth_call",listener="public",outcome="error"} 1',
  );
});

it('is added up over threads, and goes on from reading to reading', async () => {
  const threads = [new Registry(), new Registry()].map((registry) => ({
    registry,
    observe: new RequestTimes(registry).of('public'),
  }));
  const read = async (): Promise<string[]> =>
    linesOf(
      await mergeMetrics(
        await Promise.all(threads.map(({ registry }) => registry.getMetricsAsJSON())),
      ).metrics(),
    );
  for (const { observe } of threads) observe('eth_call', undefined, 0.5);
  const count = 'chain_query_request_seconds_count{method="eth_call",listener="public",outcome="ok"}';
  expect(await read()).toContain(`${count} 2`);
  threads[0]?.observe('eth_call', undefined, 0.5);
  expect(await read()).toContain(`${count} 3`);
});
