import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { measureMemory } from './memory.ts';

/** Values of one metric by their labels. */
async function read(registry: Registry, name: string): Promise<ReadonlyMap<string, number>> {
  const metric = await registry.getSingleMetric(`chain_query_${name}`)?.get();
  return new Map(metric?.values.map(({ labels, value }) => [Object.values(labels).join(), value] as const));
}

it('measures every heap while its thread lives, and the native memory', async () => {
  const registry = new Registry();
  measureMemory(registry, () => ({ live: 5, used: 7, mapped: 9, free: 11 }));
  const worker = new Worker('require("node:worker_threads").parentPort.on("message", () => {})', {
    eval: true,
    name: 'one',
  });
  await once(worker, 'online');
  const heaps = await read(registry, 'isolate_memory_bytes');
  for (const isolate of ['main', 'one']) {
    const [used, total] = [heaps.get(`${isolate},used`), heaps.get(`${isolate},total`)];
    expect(used).toBeGreaterThan(2 ** 20);
    expect(total).toBeGreaterThanOrEqual(used ?? 0);
    expect(heaps.get(`${isolate},resident`)).toBeGreaterThan(2 ** 20);
    expect(heaps.get(`${isolate},external`)).toBeGreaterThan(0);
  }
  await worker.terminate();
  expect([...(await read(registry, 'isolate_memory_bytes')).keys()]).not.toContain('one,used');
  expect([...(await read(registry, 'native_live_bytes')).values()]).toEqual([5]);
  expect(await read(registry, 'allocator_bytes')).toEqual(
    new Map([
      ['used', 7],
      ['mapped', 9],
      ['free', 11],
    ]),
  );
});

it.runIf(process.platform === 'linux')('tells own memory from that of files', async () => {
  const registry = new Registry();
  measureMemory(registry, () => ({ live: 0 }));
  const resident = await read(registry, 'resident_bytes');
  expect(resident.get('anonymous')).toBeGreaterThan(2 ** 20);
  expect(resident.get('file')).toBeGreaterThan(2 ** 20);
  expect(await read(registry, 'allocator_bytes')).toEqual(new Map());
});
