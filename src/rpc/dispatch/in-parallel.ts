import { setImmediate } from 'node:timers/promises';

/** How long one list of items may hold the thread. */
const TURN_MS = 5;

/** Runs all items, some at a time, and lets the rest of the process have its turn between them. */
export async function inParallel<T>(
  items: readonly T[],
  concurrency: number,
  run: (index: number, item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let turnEnds = performance.now() + TURN_MS;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      const item = items[index];
      try {
        if (item !== undefined) await run(index, item);
      } catch (error) {
        // All of it fails: the other lanes need not start anything more.
        next = items.length;
        throw error;
      }
      // Entries that are answered at once never leave this turn of the event loop by themselves.
      if (performance.now() > turnEnds) {
        await setImmediate();
        turnEnds = performance.now() + TURN_MS;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane));
}
