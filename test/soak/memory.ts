import { readFile } from 'node:fs/promises';
import { Metrics } from '../preconfirmed/scenarios/effects.ts';
import type { ServedNode } from '../preconfirmed/served-node.ts';
import { memoryOf } from '../subscriptions/show.ts';

/** What holds the memory of our node at one time, in bytes. */
export interface MemorySample {
  readonly block: number;
  /** Resident and its own (RssAnon), by the kernel's word. */
  readonly resident: number;
  /** Pages of JavaScript heaps, by the kernel's word: with those that V8 keeps for later, of which it says nothing. */
  readonly pages: number;
  /** Machine code that V8 made. */
  readonly code: number;
  /** What V8 says of those pages: in spaces, and in use there. */
  readonly heaps: number;
  readonly heapsUsed: number;
  /** The C library's heaps: in use, and freed but kept. */
  readonly used: number;
  readonly free: number;
  /** What the native core has of the part in use. */
  readonly live: number;
}

export async function sample(node: ServedNode, block: number): Promise<MemorySample> {
  const [metrics, { pages, code }] = await Promise.all([Metrics.of(node), heapPages(node.running.pid)]);
  const resident = memoryOf(node);
  return {
    ...{ block, resident, pages, code },
    heaps: metrics.sum('isolate_memory_bytes', 'kind="resident"'),
    heapsUsed: metrics.sum('isolate_memory_bytes', 'kind="used"'),
    used: metrics.sum('allocator_bytes', 'kind="used"'),
    free: metrics.sum('allocator_bytes', 'kind="free"'),
    live: metrics.sum('native_live_bytes'),
  };
}

/** All of a sample that is known by name. */
export function known({ pages, code, used, free }: MemorySample): number {
  return pages + code + used + free;
}

const pageBytes = 2 ** 18;
/** Heaps of glibc begin at a multiple of this, and V8's pages hardly ever do. */
const glibcHeapBytes = 2 ** 26;

/** V8 maps its pages one by one at addresses of their size; the kernel joins neighbours. */
async function heapPages(pid: number): Promise<{ readonly pages: number; readonly code: number }> {
  let [pages, code] = [0, 0];
  let kind: 'pages' | 'code' | undefined;
  for (const line of (await readFile(`/proc/${pid}/smaps`, 'utf8')).split('\n')) {
    const mapping = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ 0 *$/.exec(line);
    if (mapping !== null) {
      const [start, end] = [Number.parseInt(mapping[1] ?? '', 16), Number.parseInt(mapping[2] ?? '', 16)];
      const isPages =
        start % pageBytes === 0 && (end - start) % pageBytes === 0 && start % glibcHeapBytes !== 0;
      if (mapping[3] === 'rw-p') kind = isPages ? 'pages' : undefined;
      else kind = mapping[3] === 'rwxp' ? 'code' : undefined;
    } else if (/^[0-9a-f]+-/.test(line)) kind = undefined;
    const bytes = Number(/^Anonymous:\s+(\d+) kB$/.exec(line)?.[1] ?? 0) * 1_024;
    if (kind === 'pages') pages += bytes;
    if (kind === 'code') code += bytes;
  }
  return { pages, code };
}

/** What a figure grows by a block, of the straight line that fits best. */
export function slope(
  samples: readonly MemorySample[],
  figure: (sample: MemorySample) => number = ({ resident }) => resident,
): number {
  const mean = (of: (one: MemorySample) => number): number =>
    samples.reduce((sum, one) => sum + of(one), 0) / samples.length;
  const [block, value] = [mean((one) => one.block), mean(figure)];
  const spread = mean((one) => (one.block - block) ** 2);
  return mean((one) => (one.block - block) * (figure(one) - value)) / spread;
}
