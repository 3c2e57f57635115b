import { Gauge, type Registry } from 'prom-client';
import type { Logger } from '../../telemetry/logger.ts';
import type { ReadinessIssue } from './readiness.ts';

/** Whether the store can be written, for whoever runs the node: a metric, two log lines, a reason of /readyz. */
export class WritingHealth {
  readonly #logger: Logger;
  readonly #gauge: Gauge;
  #trouble: string | undefined;

  constructor(registry: Registry, logger: Logger) {
    this.#logger = logger;
    this.#gauge = new Gauge({
      name: 'chain_query_store_writable',
      help: '1 while changes of the store succeed, 0 while the disk refuses them.',
      registers: [registry],
    });
    this.#gauge.set(1);
  }

  /** Takes in why nothing can be written, or that it can again. */
  readonly hear = (trouble: string | undefined): void => {
    const before = this.#trouble;
    this.#trouble = trouble;
    this.#gauge.set(trouble === undefined ? 1 : 0);
    if (trouble === undefined) this.#logger.info('the store can be written again');
    // Once, and not for each byte less.
    else if (before === undefined)
      this.#logger.error({ reason: trouble }, 'what is held is served on, but nothing new can be written');
  };

  /** What speaks against sending requests here. */
  get issues(): readonly ReadinessIssue[] {
    return this.#trouble === undefined ? [] : [{ reason: 'store', detail: this.#trouble }];
  }
}
