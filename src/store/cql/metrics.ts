import type { Registry } from 'prom-client';
import { totalsIn } from '../../telemetry/metrics.ts';
import type { StoreRequests } from './session.ts';

/** Measures what is asked of the servers of a store. */
export function measureStoreRequests(registry: Registry, requests: () => Readonly<StoreRequests>): void {
  const total = totalsIn(registry);
  total('store_reads_total', 'Reads of servers of the store.', () => requests().reads);
  total('store_writes_total', 'Batches of rows written to servers of the store.', () => requests().writes);
  total(
    'store_conditional_writes_total',
    'Conditional writes of the root row of the store.',
    () => requests().conditional,
  );
}
