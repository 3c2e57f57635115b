import type { Registry } from 'prom-client';
import type { Logger } from './logger.ts';
import { countersIn } from './metrics.ts';

export interface SlowRequestOptions {
  /** From which on a call is slow; 0 is never. */
  readonly ms: number;
  /** Lines a second. */
  readonly maxLines: number;
}

export interface SlowRequestModules {
  readonly registry: Registry;
  readonly logger: Pick<Logger, 'warn'>;
  /** Milliseconds. */
  readonly now?: () => number;
}

const SECOND_MS = 1_000;

/** Writes a line for each slow call, up to a number a second; what clients asked for is not in it. */
export class SlowRequests {
  readonly #ms: number;
  readonly #write: (fields: object) => void;

  constructor({ ms, maxLines }: SlowRequestOptions, modules: SlowRequestModules) {
    this.#ms = ms === 0 ? Number.POSITIVE_INFINITY : ms;
    const { registry, logger, now = () => performance.now() } = modules;
    const counter = countersIn(registry);
    const slow = counter('slow_requests_total', 'Calls that took longer than --slow-request-ms.');
    const dropped = counter(
      'slow_request_lines_dropped_total',
      'Slow calls without a line in the log: too many.',
    );
    let second = Number.NEGATIVE_INFINITY;
    let lines = 0;
    this.#write = (fields) => {
      slow.inc();
      const time = now();
      if (time - second >= SECOND_MS) {
        second = time;
        lines = 0;
      }
      if (lines >= maxLines) return dropped.inc();
      lines++;
      logger.warn(fields, 'slow request');
    };
  }

  /** What to call for each call that a listener has answered. */
  of(listener: string) {
    return (
      method: string,
      code: number | undefined,
      seconds: number,
      request: { readonly requestId: string },
    ): void => {
      const milliseconds = seconds * SECOND_MS;
      if (milliseconds < this.#ms) return;
      const { requestId } = request;
      this.#write({ method, milliseconds: Math.round(milliseconds), listener, code, requestId });
    };
  }
}
