/** How long something took, repeat by repeat, in milliseconds. */
export interface Times {
  readonly p50: number;
  readonly p99: number;
}

export function summarise(times: readonly number[]): Times {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Times `run` again and again, after some repeats that do not count. */
export async function repeat(
  times: number,
  run: (turn: number) => Promise<unknown>,
  warmUps = Math.ceil(times / 4),
): Promise<Times> {
  const taken: number[] = [];
  for (let turn = 0; turn < warmUps + times; turn++) {
    const started = performance.now();
    await run(turn);
    if (turn >= warmUps) taken.push(performance.now() - started);
  }
  return summarise(taken);
}

/** Calls `run` for each item, `width` at a time. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  run: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await run(item);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** Two or three digits, as a figure of one run deserves. */
export function figure(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function describeTimes({ p50, p99 }: Times): string {
  return `${figure(p50)} / ${figure(p99)}`;
}

/** How long one run took. */
export async function milliseconds(run: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await run();
  return performance.now() - started;
}
/** Says what happens now, and when. */
export function note(text: string): void {
  console.log(`${(performance.now() / 1_000).toFixed(0)} s: ${text}`);
}
