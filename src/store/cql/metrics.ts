import type { Registry } from 'prom-client';
import { gaugesIn, totalsIn } from '../../telemetry/metrics.ts';
import type { CqlStore } from './index.ts';
import type { CqlReplica } from './replica.ts';
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

/** Measures who writes a store, and how far its index is behind. */
export function measureIndex(registry: Registry, store: CqlStore | CqlReplica): void {
  const gauge = gaugesIn(registry);
  gauge('store_epoch', 'How often the right to write the store was taken.', [], (epoch) =>
    epoch.set(Number(store.epoch ?? 0n)),
  );
  gauge('store_unindexed_blocks', 'Blocks held in memory until the index has them.', [], (blocks) =>
    blocks.set(store.unindexed),
  );
}

/** The same for its writer, and for how long blocks waited for the index. */
export function measureWritten(registry: Registry, store: CqlStore): void {
  measureIndex(registry, store);
  totalsIn(registry)(
    'store_held_back_seconds_total',
    'Time that blocks waited because too much was left to the index.',
    () => store.heldBackMs / 1_000,
  );
}
