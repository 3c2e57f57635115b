import type { Registry } from 'prom-client';
import type { PublisherState } from '../feed/nats/publisher.ts';
import type { SubscriberState } from '../feed/nats/subscriber.ts';
import type { CqlReplica } from '../store/cql/replica.ts';
import { gaugesIn, totalsIn } from '../telemetry/metrics.ts';

/** Measures how a replica is doing: how long ago it saw the store, and its writer a sign of life in it. */
export function measureReplica(registry: Registry, store: CqlReplica): void {
  const gauge = gaugesIn(registry);
  gauge('store_silent_seconds', 'Time since the root row of the store was read.', [], (seconds) =>
    seconds.set(store.silentMs / 1_000),
  );
  gauge('store_unwritten_seconds', 'Time since the writer of the store changed it.', [], (seconds) =>
    seconds.set(store.unwrittenMs / 1_000),
  );
}

/** Measures what a replica hears on the feed. */
export function measureHeard(registry: Registry, state: () => SubscriberState): void {
  const [gauge, total] = [gaugesIn(registry), totalsIn(registry)];
  gauge('feed_connected', 'Whether a server of the feed is connected.', [], (it) =>
    it.set(Number(state().connected)),
  );
  total('feed_items_total', 'Items of the feed that were taken.', () => state().items);
  total('feed_gaps_total', 'Gaps of the feed, each made good from the store.', () => state().lost);
  total('feed_bytes_total', 'Bytes of the messages of the feed.', () => state().bytes);
}

/** Measures what a writer tells on the feed. */
export function measureTold(registry: Registry, state: () => PublisherState): void {
  const [gauge, total] = [gaugesIn(registry), totalsIn(registry)];
  gauge('feed_connected', 'Whether a server of the feed is connected.', [], (it) =>
    it.set(Number(state().connected)),
  );
  total('feed_items_total', 'Items that were given to the feed.', () => state().sequence);
  total('feed_dropped_total', 'Items that were never acknowledged by the feed.', () => state().dropped);
  gauge('feed_queued_items', 'Items that wait to be sent.', [], (it) => it.set(state().queuedItems));
  total('feed_bytes_total', 'Bytes of the messages of the feed.', () => state().bytes);
}
