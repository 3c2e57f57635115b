import type { BackOff } from '../clock.ts';
import type { DecodeLimits } from './decode.ts';
import type { SequenceLimits } from './sequence-state.ts';

export interface StreamOptions extends DecodeLimits {
  readonly connectTimeoutMs: number;
  /** How long a WebSocket may take to send a flashblock unasked, before it is asked for whole blocks. */
  readonly probeMs: number;
  /** A stream that says nothing for this long is stale, and connected to again. */
  readonly silenceMs: number;
  readonly reconnect: BackOff;
  /** Messages in a row that are no flashblock, after which the peer is cut. */
  readonly maxUndecodable: number;
  /** Pause before a peer that was cut for that is listened to again; longer each time, until it sends a flashblock. */
  readonly afterGarbage: BackOff;
}

export interface PollOptions {
  /** From one question to the next, unless the answer takes longer. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

export interface FlashblockOptions {
  readonly stream: StreamOptions;
  readonly poll: PollOptions;
  readonly sequence: SequenceLimits;
  /** Events that wait to be taken; with more, all of them are dropped, and pre-confirmed state with them. */
  readonly maxQueuedEvents: number;
}

/** What fits builders that publish every 200 ms, ten times a block. */
export const DEFAULT_FLASHBLOCK_OPTIONS: FlashblockOptions = {
  stream: {
    maxMessageBytes: 2 ** 23,
    maxTextBytes: 2 ** 23,
    connectTimeoutMs: 5_000,
    // Two flashblocks, and less than silence.
    probeMs: 500,
    // Five flashblocks.
    silenceMs: 1_000,
    reconnect: { firstMs: 100, maxMs: 5_000 },
    maxUndecodable: 16,
    afterGarbage: { firstMs: 1_000, maxMs: 60_000 },
  },
  poll: { intervalMs: 200, timeoutMs: 2_000 },
  sequence: {
    gapMs: 200,
    // One block: by then its parent is canonical, or never will be.
    earlyMs: 2_000,
    maxHeld: 64,
    maxHeldBytes: 2 ** 25,
    maxPendingBlocks: 8,
  },
  maxQueuedEvents: 256,
};
