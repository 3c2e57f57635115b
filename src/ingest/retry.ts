import { setTimeout as delay } from 'node:timers/promises';
import { SourceError } from '../source/errors.ts';

/** Pauses between tries: each twice the one before. */
export interface Retry {
  readonly firstMs: number;
  readonly maxMs: number;
}

export interface Patience {
  readonly retry: Retry;
  readonly signal: AbortSignal;
  readonly onFailure: (error: SourceError, retryMs: number) => void;
}

/** The pause after so many failures in a row. */
export function retryDelay({ firstMs, maxMs }: Retry, failures: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 20));
}

/** Tries again for as long as upstreams are only away; what they refuse, and all else, is thrown. */
export async function untilReachable<T>(run: () => Promise<T>, patience: Patience): Promise<T> {
  const { retry, signal, onFailure } = patience;
  for (let failures = 1; ; failures++) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof SourceError && error.retryable) || signal.aborted) throw error;
      const retryMs = retryDelay(retry, failures);
      onFailure(error, retryMs);
      await delay(retryMs, undefined, { signal });
    }
  }
}
