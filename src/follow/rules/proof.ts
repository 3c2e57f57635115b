import type { Store } from '../../store/interface.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { type FollowedRules, keepRules } from './chain-rules.ts';

export interface RulesProofModules {
  readonly store: Pick<Store, 'setMeta'>;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** Keeps rules that were asked for once a block has verified under them and is part of the copy. */
export class RulesProof {
  readonly #rules: FollowedRules;
  readonly #modules: RulesProofModules;
  #waiting: boolean;
  #verified = false;

  constructor(rules: FollowedRules, modules: RulesProofModules) {
    this.#rules = rules;
    this.#modules = modules;
    this.#waiting = rules.standing === 'unproven';
  }

  /** Takes in what happens while a chain is followed, by its kind. */
  observe({ kind }: { readonly kind: string }): void {
    if (!this.#waiting) return;
    if (kind === 'executed' || kind === 'sealed') this.#verified = true;
    if (kind !== 'moved' || !this.#verified) return;
    this.#waiting = false;
    void this.#keep();
  }

  async #keep(): Promise<void> {
    const { store, logger } = this.#modules;
    try {
      await keepRules(store, this.#rules);
      logger.info('a block has verified under the rules of --chain: the store keeps them');
    } catch (err) {
      // With the next block.
      this.#waiting = true;
      logger.warn({ err }, 'the rules of --chain cannot be kept yet');
    }
  }
}
