import type { BlockRef } from '../chain/outcome.ts';
import type { PassedAnswer } from '../chain/pass-on.ts';
import type { StateKey } from '../chain/state-key.ts';
import type { Hex } from '../primitives/hex.ts';

/** What an upstream said, and which one: who finds it false reports it by that name. */
export interface UpstreamAnswer<T> {
  readonly value: T;
  readonly upstream: string;
}

/** A claim of an upstream that was checked and found false. */
export interface Lie {
  /** The block hash that was read, or the number as a quantity. */
  readonly item: string;
  /** What was wrong, for the log: `receipts root`, `storage proof`. */
  readonly what: string;
}

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
  /** Upstream that is asked first, such as the one that named the head. */
  readonly prefer?: string | undefined;
  /** The only upstream that is asked, where it matters whose word it is. */
  readonly only?: string | undefined;
  /** For a request: it waits for all that is read to follow the chain, and never the other way round. */
  readonly forRequest?: boolean | undefined;
}

/** What one transaction changed, as a tracer tells it: accounts as it found them, and as it left them. */
export interface TracedDiff {
  readonly pre: JsonObject;
  readonly post: JsonObject;
}

/** How a call ended at an upstream: with its output, or with an error that is the call's own. */
export type CallAnswer =
  | { readonly output: Hex }
  | { readonly code: number; readonly message: string; readonly data: Hex | undefined };

/** A parsed JSON object as the upstream sent it; nothing in it has been verified. */
export type JsonObject = Readonly<Record<string, unknown>>;

export interface UpstreamHead extends BlockRef {
  readonly parentHash: Hex;
  /** As its header says, where that was told: with them a block that is known but for these is known whole. */
  readonly stateRoot?: Hex | undefined;
  readonly withdrawalsRoot?: Hex | undefined;
}

export interface HeadEvent extends UpstreamHead {
  readonly upstream: string;
}

/** Hears what each upstream says of its head. */
export interface HeadListener {
  /** An upstream named its head, which may be the one it named before. */
  onHead(head: HeadEvent): void;
  /** An upstream cannot be asked now; it is tried again. */
  onLost(upstream: string): void;
}

/** Blocks the chain calls safe and final; absent where it has none (yet). */
export interface Finality {
  readonly safe: BlockRef | undefined;
  readonly finalized: BlockRef | undefined;
}

/** An account as standard methods give it. All zero and no code: it does not exist. */
export interface AccountState {
  readonly nonce: bigint;
  readonly balance: bigint;
  readonly code: Uint8Array;
}

/** The value of one state key. Code is only known by its account, so `code` keys are always `unknown`. */
export type StateRead =
  | { readonly kind: 'account'; readonly account: AccountState; readonly upstream: string }
  /** `value` is 32 bytes. */
  | { readonly kind: 'slot'; readonly value: Uint8Array; readonly upstream: string }
  | { readonly kind: 'blockHash'; readonly hash: Uint8Array; readonly upstream: string }
  | { readonly kind: 'unknown' };

export interface UpstreamStatus {
  readonly name: string;
  readonly latencyMs: number;
  /** From 0 to 1, of the last half minute or so. */
  readonly errorRate: number;
  readonly head: number | undefined;
  /** Blocks behind the best upstream. */
  readonly lag: number | undefined;
  readonly lies: number;
  /** How long it stays out for having lied; 0 when it is in use. */
  readonly outForMs: number;
  /** Calls it takes in one request; 1 when it refuses batches. */
  readonly batchCalls: number;
  /** The chain that it is of instead of the one that is followed: it is asked nothing. */
  readonly otherChain: bigint | undefined;
}

/**
 * A live chain, read from upstreams that may be slow, wrong or away. Reads reject with `SourceError`, or with the
 * signal's reason. What names a block by hash is about that block and no other, however the upstream moves.
 */
export interface ChainSource {
  /** The chain id that each reachable upstream claims; of those of another chain than expected, none. */
  chainIds(options?: ReadOptions): Promise<readonly UpstreamAnswer<bigint>[]>;
  /** Says which chain is read: each upstream is asked for its own whenever it may be another one, and only then used. */
  expectChain(chainId: bigint): void;
  /** What each upstream that answers says of its forks (`eth_config`); undefined of one that does not offer it. */
  forkConfigs(options?: ReadOptions): Promise<readonly UpstreamAnswer<JsonObject | undefined>[]>;
  head(options?: ReadOptions): Promise<UpstreamAnswer<UpstreamHead>>;
  /** The head that each upstream names, in their order; those that take much longer than the first are left out. */
  heads(options?: ReadOptions): Promise<readonly UpstreamAnswer<UpstreamHead>[]>;
  finality(options?: ReadOptions): Promise<UpstreamAnswer<Finality>>;
  /** The block with its whole transactions; `undefined` when no upstream has it. */
  blockByHash(hash: Hex, options?: ReadOptions): Promise<UpstreamAnswer<JsonObject> | undefined>;
  /** The hash that the canonical block of that number has; `undefined` when nobody has one. */
  hashAt(number: number, options?: ReadOptions): Promise<UpstreamAnswer<Hex> | undefined>;
  blockByNumber(number: number, options?: ReadOptions): Promise<UpstreamAnswer<JsonObject> | undefined>;
  /**
   * Headers from `from` to the parent of the block, in that order, each linked by hash to the next as far as the
   * upstream tells. Without transactions.
   */
  ancestors(hash: Hex, from: number, options?: ReadOptions): Promise<UpstreamAnswer<readonly JsonObject[]>>;
  /** Every receipt of a block, in order. */
  receipts(hash: Hex, options?: ReadOptions): Promise<UpstreamAnswer<readonly JsonObject[]>>;
  /** The values of keys after the block, in order, in as few requests as the upstream allows. */
  state(keys: readonly StateKey[], blockHash: Hex, options?: ReadOptions): Promise<readonly StateRead[]>;
  /** eth_getProof as the upstream gives it. */
  proof(
    address: Uint8Array,
    slots: readonly Uint8Array[],
    blockHash: Hex,
    options?: ReadOptions,
  ): Promise<UpstreamAnswer<JsonObject>>;
  /**
   * Per transaction, the accounts it touched as it found them (prestateTracer); `undefined` when no upstream gives it
   * now. One that cannot is found out once. What system calls wrote before the first transaction shows as found.
   */
  prestate(blockHash: Hex, options?: ReadOptions): Promise<UpstreamAnswer<readonly JsonObject[]> | undefined>;
  /** Per transaction, what it changed: `pre` and `post` (prestateTracer with diffMode). */
  stateDiffs(blockHash: Hex, options?: ReadOptions): Promise<UpstreamAnswer<readonly TracedDiff[]>>;
  /** What a call gives after the block with this hash; `extra` are the parameters that follow the block. */
  call(
    transaction: JsonObject,
    blockHash: Hex,
    extra: readonly unknown[],
    options?: ReadOptions,
  ): Promise<UpstreamAnswer<CallAnswer>>;
  /** What one upstream answers to a request as it is; another is asked where it cannot. */
  passOn(
    method: string,
    params: readonly unknown[],
    options?: ReadOptions,
  ): Promise<UpstreamAnswer<PassedAnswer>>;
  /** Tells of the head of each upstream: as it is announced, and else as often as it is asked. Until the signal. */
  watch(listener: HeadListener, signal: AbortSignal): Promise<void>;
  /** Keeps an upstream out that was found lying; longer each time. */
  report(upstream: string, lie: Lie): void;
  status(): readonly UpstreamStatus[];
  close(): void;
}
