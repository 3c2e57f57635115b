/** A chain config as genesis files have it: when each fork begins, and the parameters that go with it. */
export interface ChainConfig {
  readonly chainId: number;
  readonly [field: string]: unknown;
}

/** From when on (in seconds) no block is executed, and why: its rules are not known (B16). */
export interface RulesStop {
  readonly time: number;
  readonly reason: string;
}

/** How a chain tells of blocks before they are sealed. */
export type PreconfirmationKind = 'none' | 'flashblocks' | 'subblocks' | 'peers only';

/** What is known of one chain. */
export interface ChainRow {
  /** As `--chain` takes it. */
  readonly name: string;
  readonly title: string;
  readonly config: ChainConfig;
  /** The newest fork whose rules are implemented, and since when it is in force there. */
  readonly newestFork: { readonly name: string; readonly since: number };
  /** A fork of the chain whose rules are not implemented: blocks of it are refused. */
  readonly unknownFork?: { readonly name: string; readonly since: number };
  readonly blockTimeMs: number;
  readonly preconfirmations: PreconfirmationKind;
  /** What is not executed here, in words. */
  readonly notExecuted?: string;
  /** Where the row comes from, and when it was read. */
  readonly source: string;
}
