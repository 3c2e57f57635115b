import type { BlockRef } from '../chain/outcome.ts';
import type { FoundLogs } from '../head/snapshot.ts';
import type { Awaitable, Hex } from '../primitives/hex.ts';
import type { LogQuery } from '../store/interface.ts';
import type { AccountInfo } from './streams/state-change.ts';

/** One connection, as subscriptions see it. */
export interface Sink {
  /** The address of its client, whose subscriptions are counted together. */
  readonly client: string;
  /** Sends a message; to a client that is too slow, closes the connection instead. Nothing once it is closing. */
  send(message: Buffer): void;
  /** As much is waiting as whoever can wait should let wait. */
  readonly isFull: boolean;
  /** Resolves once the client has taken what waits, or is gone. */
  drained(): Promise<void>;
  close(reason: CloseReason): void;
}

/** Why a connection is closed, and what its client is told. */
export interface CloseReason {
  readonly code: number;
  readonly name: 'slow' | 'discontinued' | 'shutdown' | 'unauthorized';
  readonly words: string;
}

/** The client has to subscribe again, with `fromBlock` if it wants to miss nothing. */
export const DISCONTINUED: CloseReason = {
  code: 4009,
  name: 'discontinued',
  words: 'the stream cannot be continued without a gap: subscribe again',
};

/** Confirmed logs as requests see them, which is never older than what subscribers have been told. */
export interface History {
  /** Matching logs of confirmed blocks, ascending; fails with a `HeadError` as eth_getLogs does, or as `checkpoint` does. */
  logs(query: LogQuery, from: number, to: number, checkpoint: () => void): AsyncIterable<FoundLogs>;
  isCanonical(ref: BlockRef): Awaitable<boolean>;
}

/** One state, as `pending` had it when it was asked for. */
export interface CurrentState {
  account(address: Hex): Awaitable<AccountInfo>;
  /** 32 bytes. */
  storageAt(address: Hex, slot: Hex): Awaitable<Hex>;
}

/** Reads the state that `pending` has now; it stays as it is until all is read. */
export type ReadState = <T>(read: (state: CurrentState) => Promise<T>) => Promise<T>;
