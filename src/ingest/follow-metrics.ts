import { Gauge, Histogram, type Registry } from 'prom-client';
import type { Observe } from '../source/events.ts';
import type { Logger } from '../telemetry/logger.ts';
import { countersIn } from '../telemetry/metrics.ts';
import type { ObserveFollowing } from './follow-events.ts';
import { Accuracy } from './preconfirming-metrics.ts';

/** What following tells whoever runs the node: metrics, log lines, and when an upstream last answered. */
export class FollowTelemetry {
  readonly observeSource: Observe;
  readonly observeFollowing: ObserveFollowing;
  #answeredAt = performance.now();
  #failure: string | undefined;

  constructor(registry: Registry, logger: Logger) {
    this.observeSource = this.#sourceObserver(registry, logger);
    this.observeFollowing = followingObserver(registry, logger);
  }

  /** How long every upstream has failed, and how the last one did; undefined while one answers. */
  get outage(): { readonly ms: number; readonly reason: string } | undefined {
    if (this.#failure === undefined) return undefined;
    return { ms: performance.now() - this.#answeredAt, reason: this.#failure };
  }

  #sourceObserver(registry: Registry, logger: Logger): Observe {
    const counter = countersIn(registry);
    const requests = counter('upstream_requests_total', 'Requests to upstreams.', ['upstream', 'outcome']);
    const calls = counter('upstream_calls_total', 'Calls in requests to upstreams.', ['upstream']);
    const failures = counter('upstream_failures_total', 'Failed questions.', ['upstream', 'code']);
    const lies = counter('upstream_lies_total', 'Answers found false.', ['upstream', 'part']);
    const hedges = counter('upstream_hedges_total', 'Questions sent to a second upstream.', ['upstream']);
    const shared = counter('upstream_shared_total', 'Questions that were on their way already.', []);
    return (event) => {
      switch (event.kind) {
        case 'exchange':
          requests.inc({ upstream: event.upstream, outcome: event.outcome });
          calls.inc({ upstream: event.upstream }, event.calls);
          if (event.outcome === 'ok') this.#answered();
          return;
        case 'head':
          return this.#answered();
        case 'failure':
          failures.inc({ upstream: event.upstream, code: event.code });
          this.#failure = event.message;
          return logger.debug(event, 'an upstream failed a question');
        case 'demoted':
          lies.inc({ upstream: event.upstream, part: partOf(event.what) });
          return logger.error(event, 'an upstream lied and is not asked for a while');
        case 'hedge':
          return hedges.inc({ upstream: event.upstream });
        case 'shared':
          return shared.inc();
        case 'watch':
          if (event.state === 'lost') this.#failure = event.reason ?? 'the connection is lost';
          return logger.info(event, 'watching heads');
        case 'backOff':
        case 'coalesced':
          return logger.debug(event, 'source');
      }
    };
  }

  #answered(): void {
    this.#answeredAt = performance.now();
    this.#failure = undefined;
  }
}

function followingObserver(registry: Registry, logger: Logger): ObserveFollowing {
  const counter = countersIn(registry);
  const blocks = counter('executed_blocks_total', 'Blocks executed and verified.', []);
  const gas = counter('executed_gas_total', 'Gas of the blocks executed.', []);
  const transactions = counter('executed_transactions_total', 'Transactions executed.', []);
  const rounds = counter('execution_rounds_total', 'Times that executing a block lacked state.', []);
  const reorganisations = counter('reorganisations_total', 'Forks that were replaced.', []);
  const anchors = counter('anchors_total', 'Times that a copy began.', []);
  const troubles = counter('following_failures_total', 'Times that the head could not be reached.', []);
  const head = new Gauge({
    name: 'chain_query_head',
    help: 'Number of the head block.',
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'chain_query_block_execution_seconds',
    help: 'From a block at hand to its verified outcome, with all loading of state.',
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    registers: [registry],
  });
  const accuracy = new Accuracy(registry);
  return (event) => {
    switch (event.kind) {
      case 'sealed':
        accuracy.count(event.kept, event.preconfirmed, event.transactions);
        return event.kept < event.preconfirmed
          ? logger.warn(event, 'a sealed block is not as it was pre-confirmed')
          : logger.debug(event, 'a pre-confirmed block is sealed');
      case 'anchored':
        anchors.inc();
        return logger.warn(event, 'a new copy begins');
      case 'executed':
        blocks.inc();
        gas.inc(event.gasUsed);
        transactions.inc(event.transactions);
        rounds.inc(event.rounds);
        seconds.observe(event.ms / 1_000);
        return logger.debug(event, 'block executed');
      case 'moved':
        return head.set(event.head.number);
      case 'reorganised':
        reorganisations.inc();
        return logger.warn(event, 'the chain was reorganised');
      case 'pruned':
        return logger.debug(event, 'old history is being deleted');
      case 'trouble':
        troubles.inc();
        return logger.warn({ err: event.error, retryMs: event.retryMs }, 'the head cannot be reached now');
    }
  };
}

/** A label of few values: the first part of a block, or of its state, that the text names. */
function partOf(what: string): string {
  const part = /header|transactions|withdrawals|receipts|bloom|gas|proof|code|order/.exec(what);
  return part?.[0] ?? 'other';
}
