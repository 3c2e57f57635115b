import { totalmem } from 'node:os';
import { getHeapStatistics, type HeapInfo } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import type { Registry } from 'prom-client';
import { gaugesIn } from './metrics.ts';
import { residentBytes } from './resident.ts';

/** Native memory of the process, as whoever calls the addon knows it. */
export interface NativeBytes {
  readonly live: number;
  readonly used?: number | undefined;
  readonly mapped?: number | undefined;
  readonly free?: number | undefined;
}

/** Every thread of the process with a JavaScript heap of its own, whoever started it. */
const workers = new Set<Worker>();
process.on('worker', (worker) => {
  workers.add(worker);
  worker.once('exit', () => workers.delete(worker));
});

/**
 * Measures what holds the memory of the process: each JavaScript heap, the native core, the C library's allocator. Together
 * they are what is resident and anonymous, but for code, stacks and a few tables.
 */
export function measureMemory(registry: Registry, native: () => NativeBytes): void {
  const gauge = gaugesIn(registry);
  gauge(
    'isolate_memory_bytes',
    'JavaScript heaps, by thread: used, committed, resident, and what objects keep outside of the heap.',
    ['isolate', 'kind'],
    async (own) => {
      own.reset();
      for (const [isolate, heap] of await heaps()) {
        own.set({ isolate, kind: 'used' }, heap.used_heap_size);
        own.set({ isolate, kind: 'total' }, heap.total_heap_size);
        own.set({ isolate, kind: 'resident' }, heap.total_physical_size);
        own.set({ isolate, kind: 'external' }, heap.external_memory);
      }
    },
  );
  gauge('native_live_bytes', 'Memory that the native core has allocated and not freed.', [], (own) =>
    own.set(native().live),
  );
  gauge(
    'allocator_bytes',
    'Memory of the C library for the whole process, the native core included: used, large pieces mapped one by one, and freed but kept.',
    ['kind'],
    (own) => {
      const { used, mapped, free } = native();
      for (const [kind, bytes] of Object.entries({ used, mapped, free })) {
        if (bytes !== undefined) own.set({ kind }, bytes);
      }
    },
  );
  gauge(
    'resident_bytes',
    'Resident memory of the process: anonymous is its own, file is what it has read of files, the store above all.',
    ['kind'],
    (own) => {
      for (const [kind, bytes] of Object.entries(residentBytes() ?? {})) own.set({ kind }, bytes);
    },
  );
  gauge(
    'memory_limit_bytes',
    'Memory that the process may use: of its control group, or of the machine.',
    [],
    (own) => own.set(memoryLimit()),
  );
}

function memoryLimit(): number {
  const machine = totalmem();
  // Without a limit it is 0, or more than any machine has.
  const group = process.constrainedMemory();
  return group > 0 ? Math.min(group, machine) : machine;
}

async function heaps(): Promise<readonly (readonly [isolate: string, heap: HeapInfo])[]> {
  const others = [...workers].map(async (worker) => {
    // One that ends meanwhile has no heap any more.
    const heap = await worker.getHeapStatistics().catch(() => undefined);
    return heap === undefined ? [] : [[worker.threadName ?? `thread-${worker.threadId}`, heap] as const];
  });
  return [['main', getHeapStatistics()], ...(await Promise.all(others)).flat()];
}
