import { setTimeout as delay } from 'node:timers/promises';
import { type BackOff, fullBackOffMs } from '../source/clock.ts';
import { SourceError } from '../source/errors.ts';

export interface Patience {
  readonly retry: BackOff;
  readonly signal: AbortSignal;
  readonly onFailure: (error: SourceError, retryMs: number) => void;
}

/** Tries again for as long as upstreams are only away; what they refuse, and all else, is thrown. */
export async function untilReachable<T>(run: () => Promise<T>, patience: Patience): Promise<T> {
  const { retry, signal, onFailure } = patience;
  for (let failures = 1; ; failures++) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof SourceError && error.retryable) || signal.aborted) throw error;
      const retryMs = fullBackOffMs(retry, failures);
      onFailure(error, retryMs);
      await delay(retryMs, undefined, { signal });
    }
  }
}
