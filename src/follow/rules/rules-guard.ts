import type { BlockRef } from '../../chain/outcome.ts';
import { SYSTEM_CONTRACTS } from '../../chain/system-contracts.ts';
import type { RulesStop } from '../../rules/row.ts';
import { type ForkWatch, forkWords, UPGRADE } from './fork-watch.ts';
import type { Refusals, Refused } from './refusals.ts';
import type { RulesHealth } from './rules-health.ts';

export interface RulesGuardModules {
  readonly refusals: Refusals;
  readonly forks: ForkWatch;
  readonly health: RulesHealth;
}

/** Keeps rules that are too old from looking like a lie (B16): says when they are, and where to stop. */
export class RulesGuard {
  readonly #modules: RulesGuardModules;
  #byDiffs: BlockRef | undefined;

  constructor(modules: RulesGuardModules) {
    this.#modules = modules;
  }

  /** Why our rules are too old for the chain; undefined while they are not known to be. */
  get tooOld(): string | undefined {
    const reason = this.#modules.health.tooOld;
    return reason === undefined ? undefined : `${reason}: ${UPGRADE}`;
  }

  /** What an operator should know of forks to come. */
  get warnings(): readonly string[] {
    return this.tooOld === undefined ? this.#modules.forks.warnings : [];
  }

  /** Whether the chain is followed by state diffs, as its rules are not known here. */
  get isByDiffs(): boolean {
    return this.#byDiffs !== undefined;
  }

  /** Why not even state diffs tell what blocks of the unknown fork did. */
  get obstacle(): string | undefined {
    const address = this.#modules.forks.unknownContract(SYSTEM_CONTRACTS);
    return address && `the chain has the system contract ${address}, of whose slots no state diff tells`;
  }

  /** The block that our rules refuse though it is the chain's. */
  get refusedHash(): BlockRef['hash'] | undefined {
    return this.#modules.refusals.ofChain?.block.hash;
  }

  /** From when on no block is pre-confirmed, and why: never on one that is not executed. */
  get preconfirmedStop(): RulesStop | undefined {
    const mark = this.#byDiffs;
    if (mark === undefined) return this.stop;
    return { time: 0, reason: `the rules of block ${mark.number} and of those above it are not known here` };
  }

  /** From when on no block is executed, and why. */
  get stop(): RulesStop | undefined {
    const fork = this.#modules.forks.unknownFork;
    if (fork === undefined) return undefined;
    const reason = `the chain has ${forkWords(fork)} that is not known here`;
    const { obstacle } = this;
    return {
      time: fork.activationTime,
      reason: obstacle === undefined ? reason : `${reason}; ${obstacle}`,
    };
  }

  /** What must be known before the first block is executed. */
  async begin(signal: AbortSignal): Promise<void> {
    await this.#modules.health.begin();
    await this.#modules.forks.begin(signal);
  }

  /** Watches what upstreams say of their forks until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#modules.forks.run(signal);
  }

  /** A block was not executed, for this reason: its rules are not known. */
  stopped(reason: string): Promise<void> {
    return this.#modules.health.hear(reason);
  }

  /** Our rules refuse a block, and nobody is known to have lied. */
  async refused(refused: Refused, signal: AbortSignal): Promise<void> {
    const { refusals, forks, health } = this.#modules;
    await refusals.refused(refused, signal);
    const known = refusals.ofChain;
    if (known === undefined) return health.hear(undefined);
    // It may have been scheduled since the last look.
    if (health.tooOld === undefined) await forks.look(signal);
    const { block, reason } = known;
    const fork = forks.unknownFork;
    const since = fork === undefined ? '' : `, which has ${forkWords(fork)} that is not known here`;
    await health.hear(
      `block ${block.number} ${block.hash} is part of the chain${since}, and is refused by the rules used here (${reason})`,
    );
  }

  /** The copy has a verified block of this number; from `byDiffs` on, blocks are not executed as their rules are not known. */
  moved(head: BlockRef, byDiffs?: BlockRef): void {
    const { refusals, health } = this.#modules;
    refusals.moved(head);
    this.#byDiffs = byDiffs;
    health.followsByDiffs(byDiffs);
    if (byDiffs !== undefined) {
      const { number, hash } = byDiffs;
      const why = this.stop?.reason ?? 'rules that are not known here';
      void health.hear(
        health.tooOld ?? `block ${number} ${hash} and those above it are followed by state diffs: ${why}`,
      );
      return;
    }
    if (refusals.ofChain === undefined) void health.hear(undefined);
  }
}
