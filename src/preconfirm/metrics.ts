import { type Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ObserveFlashblocks } from '../source/flashblocks/events.ts';
import type { Logger } from '../telemetry/logger.ts';
import { countersIn, gaugesIn } from '../telemetry/metrics.ts';
import type { ObservePreconfirming, ObserveReplicated } from './events.ts';

/** Metrics and log lines of the streams. */
export function streamObserver(registry: Registry, logger: Logger): ObserveFlashblocks {
  const counter = countersIn(registry);
  const messages = counter('flashblock_messages_total', 'Messages of streams.', ['stream']);
  const bytes = counter('flashblock_bytes_total', 'Bytes of messages of streams.', ['stream']);
  const undecodable = counter('flashblock_undecodable_total', 'Messages that are no flashblock.', [
    'stream',
    'code',
  ]);
  const decisions = counter('flashblock_decisions_total', 'What was done with flashblocks.', [
    'stream',
    'decision',
  ]);
  const repairs = counter('flashblock_gaps_repaired_total', 'Holes that another stream filled.', ['stream']);
  const contradictions = counter('flashblock_contradictions_total', 'Times that two contents had one name.');
  const standby = counter(
    'flashblock_standby_total',
    'Messages that were not needed: another source feeds.',
    ['stream'],
  );
  const unverified = new Gauge({
    name: 'chain_query_flashblock_source_unverified',
    help: '1 for a source whose blocks come without roots to compare their results with.',
    labelNames: ['source'],
    registers: [registry],
  });
  const connected = new Gauge({
    name: 'chain_query_flashblock_stream_connected',
    help: '1 while a stream is connected and brings messages.',
    labelNames: ['stream'],
    registers: [registry],
  });
  const lag = new Histogram({
    name: 'chain_query_flashblock_stream_lag_seconds',
    help: 'How long after the first stream another one brought the same.',
    labelNames: ['stream'],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1],
    registers: [registry],
  });
  return (event) => {
    switch (event.kind) {
      case 'message':
        messages.inc({ stream: event.stream });
        return bytes.inc({ stream: event.stream }, event.bytes ?? 0);
      case 'undecodable':
        undecodable.inc({ stream: event.stream, code: event.code });
        return logger.debug(event, 'a message is no flashblock');
      case 'decided':
        return decisions.inc({ stream: event.stream, decision: event.decision });
      case 'lag':
        return lag.observe({ stream: event.stream }, event.ms / 1_000);
      case 'gapRepaired':
        return repairs.inc({ stream: event.stream });
      case 'contradiction':
        contradictions.inc();
        return logger.error(event, 'streams contradict each other');
      case 'standby':
        return standby.inc({ stream: event.stream });
      case 'unverified':
        unverified.set({ source: event.stream }, 1);
        return logger.warn(
          event,
          'a source of flashblocks has no roots: what it tells is executed, not verified',
        );
      case 'stream':
        connected.set({ stream: event.stream }, event.state === 'connected' ? 1 : 0);
        return event.state === 'connected'
          ? logger.info(event, 'a stream of flashblocks is live')
          : logger.warn(event, 'a stream of flashblocks is lost');
      case 'dropped':
        // Told by whoever carries it out.
        return;
    }
  };
}

/** Metrics and log lines of executing flashblocks. */
export function preconfirmingObserver(registry: Registry, logger: Logger): ObservePreconfirming {
  const counter = countersIn(registry);
  const executed = counter('flashblocks_executed_total', 'Flashblocks executed and verified.');
  const transactions = counter('flashblock_transactions_total', 'Transactions of the flashblocks executed.');
  const rounds = counter('flashblock_rounds_total', 'Times that executing a flashblock lacked state.');
  const refused = counter('flashblocks_refused_total', 'Flashblocks that did not execute to what they say.');
  const dropped = counter('preconfirmed_dropped_total', 'Times that pre-confirmed blocks were taken back.', [
    'reason',
  ]);
  const seconds = new Histogram({
    name: 'chain_query_flashblock_execution_seconds',
    help: 'From a flashblock in order to its state being published.',
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1],
    registers: [registry],
  });
  return (event) => {
    switch (event.kind) {
      case 'executed':
        executed.inc();
        transactions.inc(event.transactions);
        rounds.inc(event.rounds);
        seconds.observe(event.ms / 1_000);
        return logger.trace(event, 'flashblock executed');
      case 'refused':
        refused.inc();
        return logger.warn(
          { number: event.number, index: event.index, err: event.error },
          'a flashblock is refused',
        );
      case 'dropped':
        dropped.inc({ reason: event.reason });
        return logger.info(event, 'pre-confirmed blocks are taken back');
    }
  };
}

/** Metrics and log lines of applying flashblocks that another process executed. */
export function replicatedObserver(registry: Registry, logger: Logger): ObserveReplicated {
  const counter = countersIn(registry);
  const applied = counter('flashblocks_applied_total', 'Flashblocks applied that another process executed.');
  const held = counter('flashblocks_held_total', 'Pre-confirmed blocks that came before the one below them.');
  const refused = counter('flashblocks_refused_total', 'Flashblocks that did not follow what was here.');
  const dropped = counter('preconfirmed_dropped_total', 'Times that pre-confirmed blocks were taken back.', [
    'reason',
  ]);
  return (event) => {
    switch (event.kind) {
      case 'applied':
        applied.inc();
        return logger.trace(event, 'flashblock applied');
      case 'held':
        held.inc();
        return logger.trace(event, 'a flashblock waits for the block below it');
      case 'refused':
        refused.inc();
        return logger.warn({ index: event.index, err: event.error }, 'a flashblock does not fit');
      case 'dropped':
        // The writer's own words, of which there are few.
        dropped.inc({ reason: event.reason });
        return logger.info(event, 'pre-confirmed blocks are taken back');
    }
  };
}

/** Measures how old pre-confirmed state is; before there is any, since when there could be. */
export function measureAge(registry: Registry, ageMs: () => number): void {
  gaugesIn(registry)(
    'preconfirmed_age_seconds',
    'Time since the last flashblock was executed.',
    [],
    (gauge) => gauge.set(ageMs() / 1_000),
  );
}

/** Blocks of which it is known who told of them; no more are ever pre-confirmed at once. */
const SOURCES_KEPT = 64;

/** How sealed blocks compared with what had been pre-confirmed of them, by who told of it. */
export class Accuracy {
  readonly #blocks: Counter;
  readonly #transactions: Counter;
  readonly #accuracy: Gauge;
  readonly #totals = new Map<string, { readonly kept: number; readonly all: number }>();
  /** Who told of the newest flashblock of a block, by its number. */
  readonly #sources = new Map<number, string>();

  constructor(registry: Registry) {
    const counter = countersIn(registry);
    this.#blocks = counter('preconfirmed_blocks_total', 'Sealed blocks that had been pre-confirmed.', [
      'result',
      'source',
    ]);
    this.#transactions = counter(
      'preconfirmed_transactions_total',
      'Pre-confirmed transactions whose block was sealed, by whether all up to them stayed as they were.',
      ['result', 'source'],
    );
    this.#accuracy = new Gauge({
      name: 'chain_query_preconfirmation_accuracy',
      help: 'Share of pre-confirmed transactions that were sealed as they had been pre-confirmed, since the start.',
      labelNames: ['source'],
      registers: [registry],
    });
  }

  /** Takes note of who told of the newest flashblock of a block. */
  told(number: number, source: string): void {
    this.#sources.delete(number);
    this.#sources.set(number, source);
    const oldest = this.#sources.keys().next().value;
    if (this.#sources.size > SOURCES_KEPT && oldest !== undefined) this.#sources.delete(oldest);
  }

  /** `kept` of `preconfirmed` transactions of a block are sealed as they were; it has `sealed` in all. */
  count(number: number, { kept, preconfirmed, sealed }: SealedCounts): void {
    const source = this.#sources.get(number) ?? 'unknown';
    const result = kept < preconfirmed ? 'different' : sealed > preconfirmed ? 'longer' : 'equal';
    this.#blocks.inc({ result, source });
    this.#transactions.inc({ result: 'kept', source }, kept);
    this.#transactions.inc({ result: 'changed', source }, preconfirmed - kept);
    const before = this.#totals.get(source) ?? { kept: 0, all: 0 };
    const total = { kept: before.kept + kept, all: before.all + preconfirmed };
    this.#totals.set(source, total);
    this.#accuracy.set({ source }, total.all === 0 ? 1 : total.kept / total.all);
  }
}

interface SealedCounts {
  readonly kept: number;
  readonly preconfirmed: number;
  readonly sealed: number;
}
