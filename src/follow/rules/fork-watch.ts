import {
  type ConfigDifference,
  compareConfig,
  deniesFork,
  systemContractsOf,
} from '../../rules/compare-config.ts';
import { type EthConfig, parseEthConfig } from '../../rules/eth-config.ts';
import { type BlobChange, withBlobChange } from '../../rules/own-config.ts';
import type { ChainConfig } from '../../rules/row.ts';
import { type Clock, sleep } from '../../source/clock.ts';
import type { ChainSource, JsonObject } from '../../source/interface.ts';
import type { Logger } from '../../telemetry/logger.ts';

export interface ForkWatchOptions {
  /** Pause between looks at what upstreams say of their forks. */
  readonly forkCheck: number;
}

export interface ForkWatchModules {
  readonly source: Pick<ChainSource, 'forkConfigs'>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** The upstream whose chain is followed. */
  readonly leader: () => string | undefined;
  /** Takes over rules that differ from ours in blob parameters only. */
  readonly adopt: (config: ChainConfig, change: BlobChange) => Promise<void>;
}

/** A fork that upstreams know and we do not. */
export interface UnknownFork {
  readonly activationTime: number;
  readonly forkId: string | undefined;
}

/** What to do about rules that are too old. */
export const UPGRADE = 'upgrade chain-query, or name a genesis file that has the fork with --chain FILE';
/** At the start, blocks wait for the first look so long, and no longer: an upstream may not answer at all. */
const FIRST_LOOK_MS = 2_000;
/** Upstreams are not asked more often than this, whatever happens; nor is it looked at whether somebody else leads. */
const TURN_MS = 5_000;

/** Reads what upstreams say of their forks (`eth_config`), and compares it with our rules (B16). */
export class ForkWatch {
  readonly #options: ForkWatchOptions;
  readonly #modules: ForkWatchModules;
  #config: ChainConfig;
  /** By upstream; undefined of one that does not offer it. */
  readonly #said = new Map<string, EthConfig | undefined>();
  /** What has been logged. */
  readonly #logged = new Set<string>();
  #lookedAt: number | undefined;

  constructor(config: ChainConfig, options: ForkWatchOptions, modules: ForkWatchModules) {
    this.#config = config;
    this.#options = options;
    this.#modules = modules;
  }

  /** The first look, for a while. */
  async begin(signal: AbortSignal): Promise<void> {
    const late = sleep(this.#modules.clock, FIRST_LOOK_MS, signal).catch(() => {});
    await Promise.race([this.look(signal), late]);
  }

  /** Looks again and again until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#modules;
    for (;;) {
      await sleep(clock, TURN_MS, signal).catch(() => {});
      if (signal.aborted) return;
      const isDue = clock.now() - (this.#lookedAt ?? 0) >= this.#options.forkCheck;
      if (isDue) await this.look(signal);
      // Somebody else may lead by now.
      else await this.#adopt();
    }
  }

  /** Asks all upstreams, unless that has just been done. */
  async look(signal: AbortSignal): Promise<void> {
    const { source, clock, logger } = this.#modules;
    const now = clock.now();
    if (this.#lookedAt !== undefined && now - this.#lookedAt < TURN_MS) return;
    this.#lookedAt = now;
    const answers = await source.forkConfigs({ signal }).catch((error: unknown) => {
      if (signal.aborted) return [];
      throw error;
    });
    for (const { upstream, value } of answers) {
      const config = readConfig(value);
      // What it said once counts until it says something else.
      if (config !== undefined || !this.#said.has(upstream)) this.#said.set(upstream, config);
      if (config === undefined) {
        const text = 'an upstream does not say what forks it knows (eth_config): one that is not known here';
        this.#once(upstream, () => logger.info({ upstream }, `${text} shows when a block is refused`));
      }
      for (const difference of this.#differences(config)) this.#log(upstream, difference);
    }
    await this.#adopt();
  }

  /** The first fork that the leader knows, we do not, and no other upstream that answers denies. */
  get unknownFork(): UnknownFork | undefined {
    return this.#believed().find(
      (difference) =>
        difference.kind === 'unknown fork' ||
        (difference.kind === 'blobs' && withBlobChange(this.#config, difference) === undefined),
    );
  }

  /** A system contract of the leader's chain that is not one of `known`. */
  unknownContract(known: ReadonlySet<string>): string | undefined {
    const leader = this.#modules.leader();
    const said = leader === undefined ? undefined : this.#said.get(leader);
    return said && systemContractsOf(this.#config, said).find((address) => !known.has(address));
  }

  /** What upstreams say that our rules lack, in words. */
  get warnings(): readonly string[] {
    return [...this.#said].flatMap(([upstream, config]) =>
      this.#differences(config).map((difference) => `${upstream} ${differenceWords(difference)}: ${UPGRADE}`),
    );
  }

  #differences(config: EthConfig | undefined): readonly ConfigDifference[] {
    return config === undefined ? [] : compareConfig(this.#config, config);
  }

  /** What the leader says and nobody denies, the earliest first. */
  #believed(): readonly ConfigDifference[] {
    const leader = this.#modules.leader();
    const said = leader === undefined ? undefined : this.#said.get(leader);
    const others = [...this.#said].flatMap(([upstream, config]) =>
      upstream === leader || config === undefined ? [] : [config],
    );
    return this.#differences(said)
      .filter(({ activationTime }) => others.every((other) => !deniesFork(other, activationTime)))
      .toSorted((a, b) => a.activationTime - b.activationTime);
  }

  async #adopt(): Promise<void> {
    for (const difference of this.#believed()) {
      if (difference.kind !== 'blobs') continue;
      const { activationTime, blobSchedule } = difference;
      const config = withBlobChange(this.#config, { activationTime, blobSchedule });
      if (config === undefined) continue;
      await this.#modules.adopt(config, { activationTime, blobSchedule });
      this.#config = config;
      this.#modules.logger.warn(difference, 'blob parameters that were not known here are adopted');
    }
  }

  #log(upstream: string, difference: ConfigDifference): void {
    const { kind, activationTime } = difference;
    this.#once(`${upstream} ${kind} ${activationTime}`, () =>
      this.#modules.logger.warn({ upstream, ...difference }, `an upstream ${differenceWords(difference)}`),
    );
  }

  #once(what: string, log: () => void): void {
    if (this.#logged.has(what)) return;
    this.#logged.add(what);
    log();
  }
}

/** A fork in words. */
export function forkWords({ activationTime, forkId }: UnknownFork): string {
  const at = new Date(activationTime * 1_000);
  const when = Number.isNaN(at.getTime()) ? '' : ` (${at.toISOString()})`;
  return `a fork${forkId === undefined ? '' : ` (id ${forkId})`} at time ${activationTime}${when}`;
}

/** What an upstream has that our rules lack, in words: `has a fork that …`. */
export function differenceWords(difference: ConfigDifference): string {
  const fork = forkWords(difference);
  switch (difference.kind) {
    case 'unknown fork':
      return `has ${fork} that is not known here`;
    case 'blobs':
      return `has other blob parameters from ${fork} on`;
    case 'contents':
      return `has other precompiles or system contracts from ${fork} on`;
  }
}

/** An answer to `eth_config`; undefined of what is none. */
export function readConfig(value: JsonObject | undefined): EthConfig | undefined {
  if (value === undefined) return undefined;
  try {
    return parseEthConfig(value);
  } catch (error) {
    // Of no use, whatever it is meant to be: as if it were not offered.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
