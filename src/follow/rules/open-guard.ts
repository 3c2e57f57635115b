import type { Registry } from 'prom-client';
import { configText } from '../../rules/chains.ts';
import type { ChainConfig } from '../../rules/row.ts';
import { systemClock } from '../../source/clock.ts';
import type { ChainSource } from '../../source/interface.ts';
import type { Store } from '../../store/interface.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { keepAdopted } from './adopted-blobs.ts';
import { ForkWatch, type ForkWatchModules, type ForkWatchOptions } from './fork-watch.ts';
import { Refusals, type RefusalsOptions } from './refusals.ts';
import { RulesGuard } from './rules-guard.ts';
import { RulesHealth } from './rules-health.ts';

export interface GuardModules {
  readonly store: Store;
  readonly source: ChainSource;
  readonly registry: Registry;
  readonly logger: Logger;
  readonly leader: () => string | undefined;
  /** Takes over the blob parameters of a chain config. */
  readonly adoptBlobs: (config: string) => void;
}

/** Watches over the rules of a chain, given by name or as a chain config. */
export function openGuard(
  rules: string,
  options: RefusalsOptions & ForkWatchOptions,
  modules: GuardModules,
): RulesGuard {
  const clock = systemClock;
  const adopt: ForkWatchModules['adopt'] = async (changed, change) => {
    modules.adoptBlobs(JSON.stringify(changed));
    await keepAdopted(modules.store, change).catch((err: unknown) =>
      // They are adopted again at the next start, while upstreams name them.
      modules.logger.warn({ err }, 'adopted blob parameters cannot be kept'),
    );
  };
  const config = JSON.parse(configText(rules)) as ChainConfig;
  const forks = new ForkWatch(config, options, { ...modules, clock, adopt });
  const refusals = new Refusals(options, { ...modules, clock });
  return new RulesGuard({ forks, refusals, health: new RulesHealth(modules) });
}
