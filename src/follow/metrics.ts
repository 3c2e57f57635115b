import { Gauge, Histogram, type Registry } from 'prom-client';
import { timestampOf } from '../chain/header-time.ts';
import { InvalidBlockError } from '../executor/errors.ts';
import type { Observe } from '../source/pool/events.ts';
import type { Store } from '../store/interface.ts';
import type { Logger } from '../telemetry/logger.ts';
import { countersIn, gaugesIn } from '../telemetry/metrics.ts';
import { RefusedBlockError } from './blocks/refused-block.ts';
import type { ObserveFollowing } from './events.ts';
import { Confirmation } from './health/confirmation.ts';

/** Parts of a block, or of its state, that an upstream can lie about. */
const PARTS = [
  ...['header', 'transactions', 'withdrawals', 'receipts', 'bloom', 'gas', 'proof', 'code', 'order', 'other'],
];
/** What of a block can be otherwise than its header says, in the words of the native core. */
const REASONS = [
  ...[
    'state root',
    'receipts',
    'bloom',
    'gas',
    'requests',
    'withdrawals',
    'transaction',
    'ommers',
    'follow',
    'other',
  ],
];

/** What following tells whoever runs the node: metrics, log lines, and when an upstream last answered. */
export class FollowTelemetry {
  readonly observeSource: Observe;
  readonly observeFollowing: ObserveFollowing;
  readonly #confirmation = new Confirmation();
  #answeredAt = performance.now();
  #failure: string | undefined;
  #taken = { transactions: 0, blocks: 0 };

  constructor(registry: Registry, logger: Logger) {
    this.observeSource = this.#sourceObserver(registry, logger);
    const observe = followingObserver(registry, logger);
    this.observeFollowing = (event) => {
      if (event.kind === 'moved') this.#confirmation.moved(event.head);
      if (event.kind === 'taken') this.#countTaken(event.transactions);
      observe(event);
    };
    const age: Gauge = new Gauge({
      name: 'chain_query_confirmed_age_seconds',
      help: 'Time since an upstream named our head, or gave us the block that became it.',
      registers: [registry],
      collect: (): void => age.set(this.confirmedAgeMs / 1_000),
    });
  }

  /** Time since an upstream confirmed our head. */
  get confirmedAgeMs(): number {
    return this.#confirmation.ageMs;
  }

  /** That not all was executed here, in words for an operator; none while it was. */
  get taken(): readonly string[] {
    const { transactions, blocks } = this.#taken;
    if (blocks === 0) return [];
    return [
      `${transactions} transactions of ${blocks} blocks were not executed here: their effects are an upstream's`,
    ];
  }

  #countTaken(transactions: number): void {
    this.#taken.transactions += transactions;
    this.#taken.blocks++;
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
    const otherChain = new Gauge({
      name: 'chain_query_upstream_other_chain',
      help: '1 while an upstream is of another chain, and so not used.',
      labelNames: ['upstream'],
      registers: [registry],
    });
    const met = new Set<string>();
    return (event) => {
      switch (event.kind) {
        case 'exchange':
          if (!met.has(event.upstream)) {
            met.add(event.upstream);
            // From the start: an increase needs a zero to begin with.
            for (const part of PARTS) lies.inc({ upstream: event.upstream, part }, 0);
          }
          requests.inc({ upstream: event.upstream, outcome: event.outcome });
          calls.inc({ upstream: event.upstream }, event.calls);
          if (event.outcome === 'ok') this.#answered();
          return;
        case 'named':
          return this.#confirmation.named(event);
        case 'head':
          return this.#answered();
        case 'failure':
          failures.inc({ upstream: event.upstream, code: event.code });
          this.#failure = event.message;
          return logger.debug(event, 'an upstream failed a question');
        case 'banned':
          lies.inc({ upstream: event.upstream, part: wordIn(event.what, PARTS) });
          return logger.error(event, 'an upstream lied and is banned for a while');
        case 'chain':
          otherChain.set({ upstream: event.upstream }, event.isRight ? 0 : 1);
          return event.isRight
            ? logger.info(event, 'an upstream is of the right chain again')
            : logger.error(event, 'an upstream is of another chain and is not used');
        case 'hedge':
          return hedges.inc({ upstream: event.upstream });
        case 'shared':
          return shared.inc();
        case 'watch':
          if (event.state === 'lost') this.#failure = event.reason ?? 'the connection is lost';
          return logger.info(event, 'watching heads');
        case 'backOff':
          return logger.debug(event, 'source');
      }
    };
  }

  #answered(): void {
    this.#answeredAt = performance.now();
    this.#failure = undefined;
  }
}

/** Measures what was fetched and is not written yet. */
export function measurePins(registry: Registry, waiting: () => number): void {
  const gauge: Gauge = new Gauge({
    name: 'chain_query_pins_waiting',
    help: 'Values of state that wait to be written, long ones counted for several.',
    registers: [registry],
    collect: () => gauge.set(waiting()),
  });
}

/** Measures how old the head is by its own timestamp. */
export function measureTip(registry: Registry, store: Pick<Store, 'marks' | 'header'>): void {
  gaugesIn(registry)('tip_age_seconds', 'Time since the timestamp of the head block.', [], async (gauge) => {
    const marks = await store.marks();
    const header = marks && (await store.header(marks.head));
    if (header === undefined) gauge.remove();
    else gauge.set(Date.now() / 1_000 - timestampOf(header));
  });
}

function followingObserver(registry: Registry, logger: Logger): ObserveFollowing {
  const counter = countersIn(registry);
  const blocks = counter('executed_blocks_total', 'Blocks executed and verified.', []);
  const refused = counter(
    'blocks_refused_total',
    'Times that a block did not verify, by what of it was found to be otherwise.',
    ['reason'],
  );
  for (const reason of REASONS) refused.inc({ reason }, 0);
  const gas = counter('executed_gas_total', 'Gas of the blocks executed.', []);
  const transactions = counter('executed_transactions_total', 'Transactions executed.', []);
  const taken = counter(
    'taken_transactions_total',
    'Transactions that were not executed here: they enter native contracts, or their rules are not known.',
    ['proven'],
  );
  const rounds = counter('execution_rounds_total', 'Times that executing a block lacked state.', []);
  const reorganisations = counter('reorganisations_total', 'Forks that were replaced.', []);
  const anchors = counter('anchors_total', 'Times that a copy began.', []);
  const troubles = counter('following_failures_total', 'Times that the head could not be reached.', []);
  const changes = counter('leader_changes_total', 'Times that another upstream led.', ['reason']);
  const leads = new Gauge({
    name: 'chain_query_upstream_leads',
    help: '1 for the upstream whose chain is followed.',
    labelNames: ['upstream'],
    registers: [registry],
  });
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
  return (event) => {
    switch (event.kind) {
      case 'sealed':
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
      case 'taken':
        taken.inc({ proven: String(event.isProven) }, event.transactions);
        return logger.debug(event, 'effects were taken from an upstream');
      case 'moved':
        return head.set(event.head.number);
      case 'reorganised':
        reorganisations.inc();
        return logger.warn(event, 'the chain reorged');
      case 'led':
        if (event.from !== undefined) leads.set({ upstream: event.from }, 0);
        if (event.to !== undefined) leads.set({ upstream: event.to }, 1);
        changes.inc({ reason: event.reason });
        return event.from === undefined
          ? logger.info(event, 'an upstream leads')
          : logger.warn(event, 'another upstream leads');
      case 'pruned':
        return logger.debug(event, 'old history is being deleted');
      case 'trouble':
        troubles.inc();
        if (event.error instanceof InvalidBlockError || event.error instanceof RefusedBlockError) {
          refused.inc({ reason: wordIn(event.error.message, REASONS) });
        }
        return logger.warn({ err: event.error, retryMs: event.retryMs }, 'the head cannot be reached now');
    }
  };
}

/** The first of these words that a text has: labels have few values. */
function wordIn(text: string, words: readonly string[]): string {
  const found = words.map((word) => ({ word, at: text.indexOf(word) })).filter(({ at }) => at !== -1);
  return found.toSorted((a, b) => a.at - b.at)[0]?.word ?? 'other';
}
