import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { Growth } from './growth.ts';
import { measureStore } from './metrics.ts';

it('leaves out what is not known: growth in the first hour, and the days left of what does not grow', async () => {
  const registry = new Registry();
  let now = 0;
  let bytes = 1_000;
  const sizes = () => ({ bytes, roomBytes: 48_000, oldestReader: 3 });
  measureStore(registry, { sizes }, new Growth(() => now));
  const read = async (): Promise<readonly string[]> =>
    (await registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('chain'))
      .toSorted();
  const known = [
    'chain_query_store_bytes 1000',
    'chain_query_store_oldest_reader_transactions 3',
    'chain_query_store_room_bytes 48000',
  ];
  expect(await read()).toEqual(known);
  now += 3_600_000;
  expect(await read()).toEqual([...known, 'chain_query_store_growth_bytes_per_day 0'].toSorted());
  bytes = 2_000;
  expect(await read()).toContain('chain_query_store_growth_bytes_per_day 24000');
  expect(await read()).toContain('chain_query_store_left_days 2');
  bytes = 500;
  expect(await read()).toContain('chain_query_store_growth_bytes_per_day -12000');
  expect((await read()).join()).not.toContain('left_days');
});
