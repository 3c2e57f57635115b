import type { MethodRow, Stats } from '../../src/rpc/admin/state.ts';

type Counts = readonly number[];

/** The sum of all buckets. */
export function sumOf(counts: Counts): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function difference(now: Counts, before: Counts = []): Counts {
  return now.map((count, at) => Math.max(0, count - (before[at] ?? 0)));
}

/** How many took how long between two measures, of all methods together. */
export function countsSince(now: Stats, before: Stats): Counts {
  const sum: number[] = [];
  for (const row of methodsSince(now, before))
    for (const [at, count] of row.counts.entries()) sum[at] = (sum[at] ?? 0) + count;
  return sum;
}

/** The same by method. */
export function methodsSince(now: Stats, before: Stats): readonly MethodRow[] {
  const known = new Map(before.methods.map((row) => [row.method, row]));
  return now.methods.map(({ method, counts, errors }) => {
    const row = known.get(method);
    return { method, counts: difference(counts, row?.counts), errors: errors - (row?.errors ?? 0) };
  });
}

/** Seconds that this share took at most, within a bucket by its place in it; undefined of nothing. */
export function percentile(counts: Counts, bounds: readonly number[], share: number): number | undefined {
  const wanted = sumOf(counts) * share;
  if (wanted === 0) return undefined;
  let below = 0;
  for (const [at, count] of counts.entries()) {
    if (below + count >= wanted) {
      const low = bounds[at - 1] ?? 0;
      const high = bounds[at] ?? low;
      return low + ((high - low) * (wanted - below)) / count;
    }
    below += count;
  }
  return bounds.at(-1);
}
