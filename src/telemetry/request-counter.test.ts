import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { RequestCounter } from './request-counter.ts';

it('counts by method, listener and code, also between two readings', async () => {
  const registry = new Registry();
  const counter = new RequestCounter(registry);
  const [open, closed] = [counter.of('public'), counter.of('dedicated')];
  open('eth_call', undefined);
  open('eth_call', 3);
  closed('eth_call', undefined);
  await registry.getMetricsAsJSON();
  open('eth_call', undefined);
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('chain'));
  expect(lines.toSorted()).toEqual([
    'chain_query_requests_total{method="eth_call",listener="dedicated",code="0"} 1',
    'chain_query_requests_total{method="eth_call",listener="public",code="0"} 2',
    'chain_query_requests_total{method="eth_call",listener="public",code="3"} 1',
  ]);
});
