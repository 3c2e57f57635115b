import type { Registry } from 'prom-client';
import type { PassOn } from '../chain/pass-on.ts';
import type { ForwardCall, StateLoader } from '../executor/interface.ts';
import type { NativeExecutor } from '../executor/native-executor.ts';
import type { PublishToFeed } from '../feed/interface.ts';
import type { UpstreamStatus } from '../source/interface.ts';
import type { Store } from '../store/interface.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Condition } from './health/readiness.ts';

export interface CopyModules {
  readonly store: Store;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Told of whatever happens to the chain, in order. */
  readonly publish: PublishToFeed;
  /** Called when following ended by a fault of ours. */
  readonly onFailure: (error: unknown) => void;
  /** Gives up waiting for an upstream at the start. */
  readonly signal: AbortSignal;
}

/** A copy of a chain that can be served. */
export interface ChainCopy {
  readonly executor: NativeExecutor;
  /** Loads state for requests: from the store, and what it does not know from an upstream if there is one. */
  readonly load: StateLoader;
  /** Has calls that enter native contracts run by an upstream; absent where they are refused. */
  readonly forward?: ForwardCall | undefined;
  /** The state of the store that threads begin with, where they have to be told. */
  position?(): string | undefined;
  /** The config of the chain, as genesis files have it. */
  readonly chainConfig: string;
  /** Has others answer what only they can. */
  readonly passOn: PassOn;
  /** Whether there is anybody to send transactions to. */
  readonly canSend: boolean;
  condition(): Promise<Condition>;
  /** How its upstreams are doing, where it asks any. */
  upstreams?(): readonly UpstreamStatus[];
  /** Begins to follow the chain, if there is one to follow. */
  start(): void;
  close(): Promise<void>;
}
