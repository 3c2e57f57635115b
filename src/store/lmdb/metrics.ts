import type { Gauge, Registry } from 'prom-client';
import { gaugesIn } from '../../telemetry/metrics.ts';
import { Growth } from './growth.ts';
import type { LmdbStore } from './index.ts';

/** Measures how large a store is, how fast it grows, and how long there is room for it. */
export function measureStore(
  registry: Registry,
  store: Pick<LmdbStore, 'sizes'>,
  growth: Growth = new Growth(),
): void {
  // The first sample is of now, not of when somebody first asks.
  growth.perDay(store.sizes().bytes);
  const gauge = gaugesIn(registry);
  gauge('store_bytes', 'Size of the file of the store.', [], (own) => own.set(store.sizes().bytes));
  gauge(
    'store_room_bytes',
    'What the store may still grow by: free on its disk beyond --disk-reserve, and within --store-map-size.',
    [],
    (own) => own.set(store.sizes().roomBytes),
  );
  // What is not known is left out: 0 would be an answer.
  const setOrLeaveOut = (own: Gauge, value: number | undefined): void =>
    value === undefined ? own.remove() : own.set(value);
  gauge(
    'store_growth_bytes_per_day',
    'What the store grows by, by the last day or the time since the start; absent in the first hour.',
    [],
    (own) => setOrLeaveOut(own, growth.perDay(store.sizes().bytes)),
  );
  gauge(
    'store_left_days',
    'Time until there is no room for the store, if it grows on like that; absent where that is not known, or it does not grow.',
    [],
    (own) => {
      const { bytes, roomBytes } = store.sizes();
      const perDay = growth.perDay(bytes);
      setOrLeaveOut(own, perDay === undefined || perDay <= 0 ? undefined : roomBytes / perDay);
    },
  );
  gauge(
    'store_oldest_reader_transactions',
    'Changes of the store since the oldest snapshot that somebody reads: what they freed cannot be used again while it is read.',
    [],
    (own) => own.set(store.sizes().oldestReader),
  );
}
