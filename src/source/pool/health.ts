import type { ExchangeEvent } from './upstream.ts';

/** Half of what is known about errors is forgotten in this time, so that one that failed is tried again. */
const ERROR_HALF_LIFE_MS = 30_000;
const SAMPLE_WEIGHT = 0.2;
/** Before the first answer: neither preferred to one that is known to be fast, nor left out for ever. */
const UNKNOWN_LATENCY_MS = 100;
/** An upstream that fails every time is worth this many times its latency. */
const ERROR_COST = 20;
/** What one block behind costs: an upstream without the block cannot answer at all. */
const LAG_COST_MS = 200;

/** Outcomes that say something about the upstream and not about what it was asked. */
const FAULTS: ReadonlySet<ExchangeEvent['outcome']> = new Set([
  'unreachable',
  'timeout',
  'overloaded',
  'rateLimited',
  'garbage',
  'unauthorized',
  'otherChain',
] as const);

/** How well an upstream has done lately. */
export class Health {
  #latencyMs: number | undefined;
  #errors = 0;
  #errorsAt = 0;
  #head = -1;

  /** Highest block it has named; -1 before the first. */
  get head(): number {
    return this.#head;
  }

  /** Smoothed time of a request. */
  get latencyMs(): number {
    return this.#latencyMs ?? UNKNOWN_LATENCY_MS;
  }

  sawHead(number: number): void {
    this.#head = number;
  }

  record(event: ExchangeEvent, now: number): void {
    // A request that was given up took at least this long; a fast failure says nothing about speed.
    const slow = event.outcome === 'aborted' || event.outcome === 'timeout';
    if (event.outcome === 'ok' || (slow && event.ms > this.latencyMs)) {
      this.#latencyMs =
        this.#latencyMs === undefined
          ? event.ms
          : this.#latencyMs + SAMPLE_WEIGHT * (event.ms - this.#latencyMs);
    }
    if (event.outcome === 'aborted') return;
    const rate = this.errorRate(now);
    this.#errors = rate + SAMPLE_WEIGHT * ((FAULTS.has(event.outcome) ? 1 : 0) - rate);
    this.#errorsAt = now;
  }

  /** A result that could not be used although the request went well. */
  recordUseless(now: number): void {
    this.record({ calls: 1, ms: 0, outcome: 'garbage' }, now);
  }

  /** From 0 to 1. */
  errorRate(now: number): number {
    return this.#errors * 0.5 ** ((now - this.#errorsAt) / ERROR_HALF_LIFE_MS);
  }

  /** Lower is better. `bestHead` is the highest block any upstream has named. */
  score(now: number, bestHead: number): number {
    const lag = this.#head < 0 ? 0 : Math.max(0, bestHead - this.#head);
    return this.latencyMs * (1 + ERROR_COST * this.errorRate(now)) + LAG_COST_MS * lag;
  }
}
