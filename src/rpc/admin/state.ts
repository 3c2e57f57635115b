/** What the dashboard is told. Imports nothing: the page is checked against these types, too. */

/** What does not change while a node runs. */
export interface DashboardFacts {
  readonly version: string;
  readonly chainId: string | undefined;
  /** Its name, where it is one that is known here. */
  readonly chain: string | undefined;
  /** Whether there are streams of flashblocks to hear. */
  readonly preconfirms: boolean;
  readonly follows: boolean;
  /** The endpoints that the playground can ask. */
  readonly endpoints: readonly {
    readonly name: string;
    readonly address: string;
    readonly tls: boolean;
    readonly keys: boolean;
  }[];
  /** Upper bounds of the buckets of times, in seconds; there is one more above the last. */
  readonly bounds: readonly number[];
}

export interface HeadBlock {
  readonly number: number;
  readonly hash: string;
  /** In milliseconds. */
  readonly timestamp: number;
  /** Undefined where only the header was read. */
  readonly transactions?: number;
  readonly gasUsed: number;
  readonly gasLimit: number;
  readonly fork: string | undefined;
}

/** One flashblock of a block. */
export interface FlashblockCell {
  readonly index: number;
  readonly transactions: number;
  /** Of the block so far. */
  readonly gasUsed: number;
}

export interface PreconfirmedBlock {
  readonly number: number;
  readonly gasLimit: number;
  readonly flashblocks: readonly FlashblockCell[];
}

/** What changes with every flashblock. */
export interface LiveState {
  readonly head: HeadBlock | undefined;
  /** The newest pre-confirmed block; undefined while nothing is pre-confirmed. */
  readonly pending: PreconfirmedBlock | undefined;
  /** How many flashblocks the last whole block had. */
  readonly flashblocksPerBlock: number | undefined;
}

/** Something that happened to the chain or the node. */
export interface Note {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: 'reorg' | 'retraction' | 'anchor' | 'leader' | 'stream' | 'readiness';
  readonly text: string;
}

export interface UpstreamRow {
  readonly name: string;
  readonly leads: boolean;
  readonly latencyMs: number;
  /** From 0 to 1. */
  readonly errorRate: number;
  readonly head: number | undefined;
  readonly lag: number | undefined;
  readonly lies: number;
  readonly outForMs: number;
  readonly isOtherChain: boolean;
}

export interface StreamRow {
  readonly name: string;
  readonly connected: boolean;
  readonly messages: number;
  /** Flashblocks that it brought first. */
  readonly first: number;
  readonly unverified: boolean;
}

export interface MethodRow {
  readonly method: string;
  readonly errors: number;
  /** How many took how long, each in one bucket. */
  readonly counts: readonly number[];
}

/** What is measured; sent once a second. Counts are since the start: the page takes differences. */
export interface Stats {
  readonly at: number;
  readonly reasons: readonly { readonly reason: string; readonly detail?: string }[];
  readonly warnings: readonly string[];
  readonly lag: number | undefined;
  readonly tipAge: number | undefined;
  readonly confirmedAge: number | undefined;
  readonly preconfirmedAge: number | undefined;
  readonly upstreams: readonly UpstreamRow[];
  readonly streams: readonly StreamRow[];
  readonly methods: readonly MethodRow[];
  readonly refused: readonly { readonly reason: string; readonly count: number }[];
  /** Times that a request needed state that only an upstream had. */
  readonly upstreamReads: number;
  readonly connections: number;
  readonly subscriptions: number;
  readonly notifications: number;
  readonly executedBlocks: number;
  readonly reorgs: number;
  readonly memory: { readonly resident: number; readonly files: number; readonly limit: number | undefined };
  readonly store: {
    readonly bytes: number | undefined;
    readonly room: number | undefined;
    readonly leftDays: number | undefined;
    readonly growthPerDay: number | undefined;
    readonly writable: boolean;
  };
  /** Sealed blocks by how they compare with what was pre-confirmed, and transactions of them. */
  readonly accuracy: {
    readonly equal: number;
    readonly longer: number;
    readonly different: number;
    readonly kept: number;
    readonly changed: number;
  };
}

/** All of it, as one answer. */
export interface DashboardState {
  readonly facts: DashboardFacts;
  readonly live: LiveState;
  readonly stats: Stats | undefined;
  readonly notes: readonly Note[];
}

/** Events of the stream, by their names. */
export interface DashboardEvents {
  readonly state: DashboardState;
  readonly live: LiveState;
  readonly stats: Stats;
  readonly note: Note;
}
