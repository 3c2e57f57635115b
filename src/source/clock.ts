/** Time as this folder sees it: tests put their own in place and never wait. */
export interface Clock {
  /** Milliseconds that only go forward. */
  now(): number;
  /** Runs `task` once after `ms`, unless the returned function is called before. */
  after(ms: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits, or rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}

export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** The longest pause before try number `attempt` (from 1): doubles each time. */
export function fullBackOffMs({ firstMs, maxMs }: BackOff, attempt: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 30));
}

/** The same with the upper half left to chance. */
export function backOffMs(options: BackOff, attempt: number, random: () => number): number {
  const full = fullBackOffMs(options, attempt);
  // Clients that failed together must not come back together.
  return full / 2 + (full / 2) * random();
}
