import { Counter, Gauge, type Registry } from 'prom-client';
import type { CloseReason } from './interface.ts';
import { SUBSCRIPTION_KINDS, type SubscriptionKind } from './request.ts';

/** Has connections. */
interface QueueingServer {
  /** What each client has yet to take. */
  queuedBytes(): readonly number[];
}

/** What one thread's connections and subscriptions are measured by. */
export class StreamMetrics {
  /** Open now. Plain numbers: a message costs an addition. */
  connections = 0;
  /** Notifications sent and not counted yet. */
  sent = 0;
  readonly #servers: QueueingServer[] = [];
  readonly #open = new Map<SubscriptionKind, number>(SUBSCRIPTION_KINDS.map((kind) => [kind, 0]));
  readonly #closed: Counter<'reason'>;

  constructor(registry: Registry) {
    const gauge = (
      name: string,
      help: string,
      labelNames: string[],
      collect: (gauge: Gauge) => void,
      aggregator: 'sum' | 'max' = 'sum',
    ): void => {
      registry.registerMetric(
        new Gauge({
          ...{ name, help, labelNames, aggregator },
          registers: [],
          collect() {
            collect(this);
          },
        }),
      );
    };
    gauge('chain_query_websocket_connections', 'Open WebSocket connections.', [], (metric) =>
      metric.set(this.connections),
    );
    gauge('chain_query_subscriptions', 'Open subscriptions by kind.', ['kind'], (metric) => {
      for (const [kind, count] of this.#open) metric.set({ kind }, count);
    });
    gauge(
      'chain_query_websocket_queued_bytes',
      'Bytes that WebSocket clients have yet to take.',
      [],
      (metric) => metric.set(this.#queued().reduce((sum, bytes) => sum + bytes, 0)),
    );
    gauge(
      'chain_query_websocket_largest_queue_bytes',
      'The most bytes that one WebSocket client has yet to take.',
      [],
      (metric) => metric.set(this.#queued().reduce((most, bytes) => Math.max(most, bytes), 0)),
      'max',
    );
    const takeSent = (): number => {
      const { sent } = this;
      this.sent = 0;
      return sent;
    };
    registry.registerMetric(
      new Counter({
        name: 'chain_query_notifications_total',
        help: 'Messages sent to subscriptions.',
        registers: [],
        collect() {
          this.inc(takeSent());
        },
      }),
    );
    this.#closed = new Counter({
      name: 'chain_query_websocket_closed_total',
      help: 'WebSocket connections closed, by why: by the client, or by this node.',
      labelNames: ['reason'],
      registers: [],
    });
    registry.registerMetric(this.#closed);
  }

  /** Has what the clients of a server have yet to take measured. */
  measure(server: QueueingServer): void {
    this.#servers.push(server);
  }

  #queued(): readonly number[] {
    return this.#servers.flatMap((server) => server.queuedBytes());
  }

  subscribed(kind: SubscriptionKind, change: 1 | -1): void {
    this.#open.set(kind, (this.#open.get(kind) ?? 0) + change);
  }

  closed(reason: CloseReason['name'] | 'client' | 'silent' | 'memory' | 'protocol'): void {
    this.#closed.inc({ reason });
  }
}
