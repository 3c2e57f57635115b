import type { Clock } from '../../clock.ts';
import type { ObserveFlashblocks } from '../events.ts';
import type { Flashblock } from '../flashblock.ts';
import type { FeedKind } from './address.ts';
import type { EncodeTransactions } from './cutter.ts';

export interface FeedHealth {
  /** Without credentials. */
  readonly name: string;
  /** Undefined until a WebSocket has shown what it is. */
  readonly kind: FeedKind | undefined;
  /** `live` from the first flashblock of a connection until it ends or falls silent. */
  readonly state: 'connecting' | 'live' | 'silent' | 'lost';
  readonly messages: number;
  readonly undecodable: number;
  /** False once it told of a block whose results nothing vouches for. */
  readonly isVerified: boolean;
  /** When its last flashblock came, by the clock of the source. */
  readonly lastAt: number | undefined;
}

/** One source of flashblocks. */
export interface FlashblockFeed {
  readonly name: string;
  readonly health: FeedHealth;
  /** Listens, or asks, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** What a source of flashblocks is given. */
export interface FeedModules {
  readonly clock: Clock;
  random(): number;
  readonly observe: ObserveFlashblocks;
  /** For sources of whole blocks. */
  readonly encode: EncodeTransactions;
  /** Whether its next flashblock is wanted; `begins` when that begins a block. */
  admits(begins: boolean): boolean;
  /** Takes a flashblock; nothing when the source has said that there is none to tell. */
  take(flashblock: Flashblock | undefined): void;
}
