import { Counter, type Registry } from 'prom-client';

/** Why a connection, a request or a call was turned away. The labels of a metric: few, and known beforehand. */
export const REFUSALS = [
  /** More connections than `--max-connections`. */
  'connections',
  /** More connections than the process has files for. */
  'descriptors',
  'host',
  'origin',
  /** Not POST, not JSON, too large. */
  'method',
  'type',
  'body',
  /** More connections than one client may have. */
  'client_connections',
  /** More requests under way than `--max-in-flight`, or than one client may have of it. */
  'in_flight',
  /** More requests waiting for a block than `--at-least-waiting`; the block did not come in time. */
  'waiting',
  'not_reached',
  /** A method that a public listener does not serve. */
  'not_public',
  /** No key or token, or a wrong one; a method that a key is not for. */
  'unauthorized',
  /** Costs more than the thread can do now: what costs most is refused first. */
  'shed',
  /** More than a client may use a second. */
  'rate',
  'not_granted',
  /** What a method needs has a queue that is full: the pool for long calls, subscriptions of a thread. */
  'overloaded',
  /** More subscriptions than one connection may have. */
  'subscriptions',
  /** More filters than one client may have. */
  'filters',
  'draining',
] as const;

export type Refusal = (typeof REFUSALS)[number];

/** Counts what was turned away, by listener and reason. */
export class RefusalCounter {
  readonly #counter: Counter;

  constructor(registry: Registry) {
    this.#counter = new Counter({
      name: 'chain_query_refused_total',
      help: 'Connections, requests and calls that were turned away, by listener and reason.',
      labelNames: ['listener', 'reason'],
      registers: [registry],
    });
  }

  /** What to call for each that a listener turns away. */
  of(listener: string): (reason: Refusal) => void {
    // From the start: a rate needs a zero to begin with.
    const children = new Map(REFUSALS.map((reason) => [reason, this.#counter.labels({ listener, reason })]));
    for (const child of children.values()) child.inc(0);
    return (reason) => children.get(reason)?.inc();
  }
}
