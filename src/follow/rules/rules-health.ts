import { Gauge, type Registry } from 'prom-client';
import type { BlockRef } from '../../chain/outcome.ts';
import type { Store } from '../../store/interface.ts';
import type { Logger } from '../../telemetry/logger.ts';

/** Name under which a store keeps why its rules are too old, for whoever looks at it from outside; empty when they are not. */
const TOO_OLD_META = 'rulesTooOld';

/** Why the rules of a store's chain are too old, as the node that follows it found. */
export async function storedTooOld(store: Pick<Store, 'getMeta'>): Promise<string | undefined> {
  return (await store.getMeta(TOO_OLD_META)) || undefined;
}

export interface RulesHealthModules {
  readonly store: Pick<Store, 'getMeta' | 'setMeta'>;
  readonly registry: Registry;
  readonly logger: Pick<Logger, 'info' | 'error' | 'warn'>;
}

/** Whether our rules are too old for the chain (B16), for whoever runs the node: a metric, log lines, a note in the store. */
export class RulesHealth {
  readonly #modules: RulesHealthModules;
  readonly #gauge: Gauge;
  readonly #byDiffs: Gauge;
  #tooOld: string | undefined;
  /** The store has a note of it, perhaps of an earlier start. */
  #isNoted = false;

  constructor(modules: RulesHealthModules) {
    this.#modules = modules;
    this.#gauge = new Gauge({
      name: 'chain_query_rules_too_old',
      help: '1 while the chain has rules that this node lacks.',
      registers: [modules.registry],
    });
    this.#gauge.set(0);
    this.#byDiffs = new Gauge({
      name: 'chain_query_by_diffs_from_block',
      help: "The first block that is followed by an upstream's state diffs, as its rules are not known here; 0 while all are executed.",
      registers: [modules.registry],
    });
  }

  /** Why our rules are too old; undefined while they are not known to be. */
  get tooOld(): string | undefined {
    return this.#tooOld;
  }

  /** What an earlier start found stays in the store until a block shows that it is over. */
  async begin(): Promise<void> {
    this.#isNoted = (await storedTooOld(this.#modules.store)) !== undefined;
  }

  /** Takes in from which block on the chain is followed by state diffs, if it is. */
  followsByDiffs(mark: BlockRef | undefined): void {
    this.#byDiffs.set(mark?.number ?? 0);
  }

  /** Takes in why our rules are too old, or that they are not. */
  async hear(tooOld: string | undefined): Promise<void> {
    if (tooOld === undefined && this.#isNoted) await this.#note('');
    if (this.#tooOld === tooOld) return;
    this.#tooOld = tooOld;
    this.#gauge.set(tooOld === undefined ? 0 : 1);
    const { logger } = this.#modules;
    if (tooOld === undefined) return logger.info('the chain is followed again by the rules used here');
    logger.error(
      { reason: tooOld },
      'the rules used here are too old for the chain: verified blocks are served on',
    );
    await this.#note(tooOld);
  }

  async #note(text: string): Promise<void> {
    const { store, logger } = this.#modules;
    this.#isNoted = text !== '';
    // Only whoever looks at the store from outside misses it.
    await store
      .setMeta(TOO_OLD_META, text)
      .catch((err: unknown) => logger.warn({ err }, 'why the rules are too old cannot be written'));
  }
}
