import type { BlockRef } from '../chain/outcome.ts';
import type { PassedAnswer, PassedRequest } from '../chain/pass-on.ts';
import type { Endpoint } from '../config/parsers.ts';
import type { CommandOptions } from '../config/table.ts';
import type { CallRequest, CallResult, ForwardedRead } from '../executor/interface.ts';
import type { FeedItem } from '../feed/interface.ts';
import type { ProgressMemory } from '../feed/progress.ts';
import type { FilterAnswer, FilterQuestion } from '../methods/filters/host.ts';
import type { Hex } from '../primitives/hex.ts';
import type { CredentialFiles } from '../rpc/auth/gate.ts';
import type { RateMemory } from '../rpc/limits/rate-table.ts';
import type { FilterVersionMemory } from '../subscriptions/filters/version.ts';
import type { HeartbeatMemory } from '../telemetry/heartbeat.ts';

/** Where each listener is, by the name of its profile; one that is off is absent. */
export type Endpoints = Readonly<Record<string, Endpoint>>;

/** The texts of a certificate and its key. */
export interface ListenerTls {
  readonly cert: string;
  readonly key: string;
}

/** Those of the listeners that speak TLS, by the names of their profiles. */
export type TlsFiles = Readonly<Record<string, ListenerTls>>;

/** The texts of all files that say who may ask, and who we are. */
export interface Credentials {
  readonly files: CredentialFiles;
  readonly tls: TlsFiles;
}

/** What a serving thread is started with. */
export interface WorkerData {
  readonly options: CommandOptions<'serve'>;
  readonly version: string;
  /** Whether there is anybody to send transactions to. */
  readonly canSend: boolean;
  /** The config of the chain, as genesis files have it. */
  readonly chainConfig: string;
  /** The state of the store to begin with, where that has to be said. */
  readonly position: string | undefined;
  /** The native chain of the process. */
  readonly executorId: number;
  readonly endpoints: Endpoints;
  readonly credentials: Credentials;
  /** How far each thread is with the feed, and which of them this one is. */
  readonly progress: ProgressMemory;
  /** What each thread holds for its clients. */
  readonly clientMemory: Int32Array<SharedArrayBuffer>;
  /** Whether anything has happened to filters. */
  readonly filterMemory: FilterVersionMemory;
  readonly workerIndex: number;
  /** Where each thread shows that it is alive. */
  readonly heartbeats: HeartbeatMemory;
  /** What clients have used of their rates. */
  readonly rates: RateMemory;
  /** Connections of all threads together: how many there are, and may be. */
  readonly connections: { readonly memory: SharedArrayBuffer; readonly limit: number };
}

/** What the main thread says to a serving thread. */
export type WorkerCommand =
  | { readonly kind: 'close' }
  | { readonly kind: 'metrics' }
  /** From now on others may use the listeners that ask for keys, and new connections get other certificates. */
  | ({ readonly kind: 'credentials' } & Credentials)
  /** Options that can change have changed. */
  | { readonly kind: 'options'; readonly options: CommandOptions<'serve'> }
  /** The next item of the feed; they are numbered from 1. */
  | {
      readonly kind: 'feed';
      readonly sequence: number;
      readonly item: FeedItem;
      /** The state of the store that it is true of, where that has to be said. */
      readonly position?: string | undefined;
    }
  /** The answer to `load`. */
  | { readonly kind: 'loaded'; readonly id: number; readonly values: readonly (Uint8Array | undefined)[] }
  | { readonly kind: 'unavailable'; readonly id: number; readonly reason: string }
  /** The client has too much under way, or all clients have. */
  | { readonly kind: 'refused'; readonly id: number }
  /** The answer to `forward`. */
  | { readonly kind: 'forwarded'; readonly id: number; readonly answer: ForwardedAnswer }
  /** A question of another thread to the one that keeps filters; 0 wants no answer. */
  | { readonly kind: 'filter'; readonly id: number; readonly question: FilterQuestion }
  /** The answer to `filter`. */
  | { readonly kind: 'filtered'; readonly id: number; readonly answer: FilterAnswer }
  /** The answer to `pass`. */
  | { readonly kind: 'passed'; readonly id: number; readonly answer: PassedResult };

/** What a serving thread says. */
export type WorkerEvent =
  | { readonly kind: 'listening'; readonly endpoints: Endpoints }
  | { readonly kind: 'metrics'; readonly metrics: unknown }
  /** State that the store does not know is asked for. */
  | ({ readonly kind: 'load'; readonly id: number } & StateQuestion)
  /** Nobody waits for the answer to `load` any more. */
  | { readonly kind: 'cancel'; readonly id: number }
  /** A call enters a native contract, or is of a block whose rules are not known: an upstream has to run it. */
  | ({ readonly kind: 'forward'; readonly id: number } & ForwardedCall)
  /** Nobody waits for the answer to `forward` any more. */
  | { readonly kind: 'cancelForward'; readonly id: number }
  /** A question for the thread that keeps filters; 0 wants no answer. */
  | { readonly kind: 'filter'; readonly id: number; readonly question: FilterQuestion }
  /** Its answer. */
  | { readonly kind: 'filtered'; readonly id: number; readonly answer: FilterAnswer }
  /** A request that only others can answer. */
  | ({ readonly kind: 'pass'; readonly id: number } & PassedOn)
  /** Nobody waits for the answer to `pass` any more. */
  | { readonly kind: 'cancelPass'; readonly id: number };

/** A request for others. */
export interface PassedOn {
  readonly request: PassedRequest;
  readonly client: string;
}

/** What they said, or why nobody did. */
export type PassedResult =
  | PassedAnswer
  | { readonly kind: 'overloaded' }
  | { readonly kind: 'unavailable'; readonly reason: string };

/** A call for an upstream. */
export interface ForwardedCall {
  readonly request: CallRequest | ForwardedRead;
  readonly blockHash: Hex;
  readonly client: string;
}

/** How it ended, or why it did not begin. */
export type ForwardedAnswer = CallResult | { readonly kind: 'unavailable'; readonly reason: string };

/** State as of block `number`, for an answer about `of`. */
export interface StateQuestion {
  /** Their texts, one behind the other: bytes of small buffers would be copied with all of their pool. */
  readonly keys: string;
  /** How many reads that takes, about. */
  readonly count: number;
  readonly number: number;
  readonly of: BlockRef | undefined;
  /** Who asks; undefined when it is the thread itself. */
  readonly client: string | undefined;
}
