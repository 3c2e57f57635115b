/** Milliseconds of the machine's monotonic clock, which all processes share: `performance.now` begins with each. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The value below which that share of the values lies. */
export function quantile(values: Iterable<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Milliseconds for a table. */
export const ms = (value: number): string => value.toFixed(value < 100 ? 1 : 0);
