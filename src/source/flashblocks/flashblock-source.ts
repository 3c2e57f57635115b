import type { BlockRef } from '../../chain/outcome.ts';
import type { Hex } from '../../primitives/hex.ts';
import { type Clock, systemClock } from '../clock.ts';
import { EventQueue } from './event-queue.ts';
import type { FlashblockEvent, ObserveFlashblocks } from './events.ts';
import { type FeedAddress, parseFeeds } from './feeds/address.ts';
import type { EncodeTransactions } from './feeds/cutter.ts';
import type { FeedHealth, FeedModules, FlashblockFeed } from './feeds/feed.ts';
import { PendingPolling } from './feeds/polling.ts';
import { Precedence, type Ranked } from './feeds/precedence.ts';
import type { FlashblockOptions } from './options.ts';
import { advance, isPassedOn, nextDeadline, type SequenceInput, type SequenceOutcome } from './sequence.ts';
import { emptySequence, type SequenceState } from './sequence-state.ts';
import { FlashblockStream } from './stream.ts';

export interface FlashblockModules {
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly observe?: ObserveFlashblocks;
  /** Makes the bytes of transactions that come as JSON. */
  readonly encode: EncodeTransactions;
}

/**
 * Several sources of one builder's flashblocks as one sequence without holes and repeats. The validator decides
 * everything; this holds its state, tells it the time and carries out what it says.
 */
export class FlashblockSource {
  readonly #options: FlashblockOptions;
  readonly #clock: Clock;
  readonly #observe: ObserveFlashblocks;
  readonly #feeds: readonly FlashblockFeed[];
  readonly #precedence: Precedence;
  readonly #queue: EventQueue<FlashblockEvent>;
  #state: SequenceState = emptySequence;
  #over = false;
  #cancelDeadline = (): void => {};
  #cancelSilence = (): void => {};

  constructor(urls: readonly string[], options: FlashblockOptions, modules: FlashblockModules) {
    this.#options = options;
    this.#clock = modules.clock ?? systemClock;
    this.#observe = modules.observe ?? (() => {});
    this.#queue = new EventQueue(options.maxQueuedEvents);
    this.#precedence = new Precedence(() => this.#feeds.map((feed, at) => this.#ranked(feed, at)));
    this.#feeds = parseFeeds(urls).map((address, at) => this.#feed(address, at, modules));
  }

  get streams(): readonly FeedHealth[] {
    return this.#feeds.map(({ health }) => health);
  }

  /**
   * The newest block that flashblocks can be executed on; to be told each time it changes. `lost` are payloads that were
   * executed, and are gone because this block has other contents than was pre-confirmed: its own included.
   */
  setHead(head: BlockRef, lost: readonly Hex[] = []): void {
    this.#input({ kind: 'head', head, lost, at: this.#clock.now() });
  }

  /** Takes a pre-confirmed block back whose flashblocks do not execute to what they claim. */
  refuse(payloadId: Hex): void {
    this.#input({ kind: 'refuse', payloadId, at: this.#clock.now() });
  }

  /** Listens to all sources until the signal aborts. For one consumer, once. */
  async *events(signal: AbortSignal): AsyncGenerator<FlashblockEvent, void> {
    const stop = new AbortController();
    const over = AbortSignal.any([signal, stop.signal]);
    const running = this.#feeds.map((feed) => feed.run(over));
    try {
      for (
        let event = await this.#queue.take(over);
        event !== undefined;
        event = await this.#queue.take(over)
      ) {
        yield event;
      }
    } finally {
      stop.abort();
      this.#over = true;
      this.#cancelDeadline();
      this.#cancelSilence();
      await Promise.all(running);
    }
  }

  #feed({ endpoint, kind }: FeedAddress, at: number, modules: FlashblockModules): FlashblockFeed {
    const { stream, poll } = this.#options;
    const rank = (): number => this.#ranked(feed, at).rank;
    const feedModules: FeedModules = {
      clock: this.#clock,
      random: modules.random ?? Math.random,
      observe: this.#observe,
      encode: modules.encode,
      admits: (begins) => this.#precedence.admits(rank(), begins),
      take: (flashblock) => {
        if (!this.#precedence.isFeeding(rank())) return this.#observe({ kind: 'standby', stream: feed.name });
        if (flashblock !== undefined) {
          this.#input({ kind: 'arrival', flashblock, stream: feed.name, at: this.#clock.now() });
        }
        this.#watchSilence();
      },
    };
    const feed: FlashblockFeed =
      kind === 'polling'
        ? new PendingPolling(endpoint, { ...stream, ...poll }, feedModules)
        : new FlashblockStream(endpoint, stream, feedModules, kind);
    return feed;
  }

  /** Raw streams go together, before all others; then those that tell of whole blocks, then those that are asked, as they are named. */
  #ranked({ health }: FlashblockFeed, at: number): Ranked {
    const isLive = health.state === 'live';
    if (health.kind === 'raw') return { rank: 0, isLive };
    return { rank: 1 + at + (health.kind === 'polling' ? this.#feeds.length : 0), isLive };
  }

  #input(input: SequenceInput): void {
    if (this.#over) return;
    const { state, outcomes } = advance(this.#state, input, this.#options.sequence);
    this.#state = state;
    let room = true;
    for (const outcome of outcomes) {
      this.#report(outcome);
      const event = toEvent(outcome);
      // What follows in the same step stands on what was just dropped.
      if (event !== undefined && room) room = this.#emit(event);
    }
    this.#cancelDeadline();
    const deadline = nextDeadline(this.#state);
    if (deadline === undefined) return;
    this.#cancelDeadline = this.#clock.after(Math.max(0, deadline - this.#clock.now()), () =>
      this.#input({ kind: 'time', at: Math.max(deadline, this.#clock.now()) }),
    );
  }

  /** False when there was no room: everything is dropped then. */
  #emit(event: FlashblockEvent): boolean {
    if (!this.#queue.full) {
      this.#queue.put(event);
      return true;
    }
    // A hole is no use to anybody: what waits goes as a whole, and the next index 0 starts over.
    const numbers = [...this.#queue.clear(), event].map(numberOf);
    const { pending } = this.#state;
    const from = Math.min(...numbers, ...pending.map(({ number }) => number));
    const at = this.#clock.now();
    this.#state = advance(
      this.#state,
      { kind: 'dropAll', reason: 'overrun', at },
      this.#options.sequence,
    ).state;
    const dropped = { kind: 'dropped', reason: 'overrun', from } as const;
    this.#observe(dropped);
    this.#queue.put(dropped);
    return false;
  }

  /** Whatever the connections do: without flashblocks, what is pre-confirmed gets old. */
  #watchSilence(): void {
    this.#cancelSilence();
    this.#cancelSilence = this.#clock.after(this.#options.stream.silenceMs, () =>
      this.#input({ kind: 'dropAll', reason: 'silence', at: this.#clock.now() }),
    );
  }

  #report(outcome: SequenceOutcome): void {
    if (outcome.kind === 'dropped') this.#observe(outcome);
    if (outcome.kind !== 'decided') return;
    const { decision, flashblock, stream, at, before } = outcome;
    const place = { number: flashblock.blockNumber, index: flashblock.index };
    this.#observe({ kind: 'decided', stream, decision, ...place });
    if (outcome.repairs === true) this.#observe({ kind: 'gapRepaired', stream, ...place });
    if (before === undefined) return;
    if (decision === 'contradiction') {
      this.#observe({ kind: 'contradiction', streams: [before.stream, stream], ...place });
    } else if (before.stream !== stream) this.#observe({ kind: 'lag', stream, ms: at - before.at });
  }
}

function toEvent(outcome: SequenceOutcome): FlashblockEvent | undefined {
  if (outcome.kind !== 'decided') return outcome;
  const { decision, flashblock, stream } = outcome;
  return isPassedOn(decision) ? { kind: 'flashblock', flashblock, stream } : undefined;
}

function numberOf(event: FlashblockEvent): number {
  if (event.kind === 'flashblock') return event.flashblock.blockNumber;
  return event.kind === 'dropped' ? event.from : event.number;
}
