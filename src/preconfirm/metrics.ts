import { type Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ObserveFlashblocks } from '../source/flashblocks/events.ts';
import type { Logger } from '../telemetry/logger.ts';
import { countersIn } from '../telemetry/metrics.ts';
import type { ObservePreconfirming } from './events.ts';

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
        return bytes.inc({ stream: event.stream }, event.bytes);
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
      case 'stream':
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

/** How sealed blocks compared with what had been pre-confirmed of them. */
export class Accuracy {
  readonly #blocks: Counter;
  readonly #transactions: Counter;
  readonly #accuracy: Gauge;
  #kept = 0;
  #all = 0;

  constructor(registry: Registry) {
    const counter = countersIn(registry);
    this.#blocks = counter('preconfirmed_blocks_total', 'Sealed blocks that had been pre-confirmed.', [
      'result',
    ]);
    this.#transactions = counter(
      'preconfirmed_transactions_total',
      'Pre-confirmed transactions whose block was sealed, by whether all up to them stayed as they were.',
      ['result'],
    );
    this.#accuracy = new Gauge({
      name: 'chain_query_preconfirmation_accuracy',
      help: 'Share of pre-confirmed transactions that were sealed as they had been pre-confirmed, since the start.',
      registers: [registry],
    });
    this.#accuracy.set(1);
  }

  /** `kept` of `preconfirmed` transactions are sealed as they were; the block has `sealed` in all. */
  count(kept: number, preconfirmed: number, sealed: number): void {
    const result = kept < preconfirmed ? 'different' : sealed > preconfirmed ? 'longer' : 'equal';
    this.#blocks.inc({ result });
    this.#transactions.inc({ result: 'kept' }, kept);
    this.#transactions.inc({ result: 'changed' }, preconfirmed - kept);
    this.#kept += kept;
    this.#all += preconfirmed;
    if (this.#all > 0) this.#accuracy.set(this.#kept / this.#all);
  }
}
