import {
  AckPolicy,
  type Consumer,
  type ConsumerConfig,
  DeliverPolicy,
  JetStreamApiError,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
  type StreamInfo,
} from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';
import type { Awaitable } from '../../primitives/hex.ts';
import type { FeedItem } from '../interface.ts';
import type { Position } from '../wire/message.ts';
import { FeedSequence, type IgnoredCounts, type Lost } from '../wire/sequence.ts';
import { NatsLink, type NatsLinkOptions } from './link.ts';
import { streamOf } from './stream.ts';

export interface SubscriberOptions {
  readonly link: NatsLinkOptions;
  readonly chain: string;
  /** Items of so long ago are delivered first, as far as the stream still has them. */
  readonly replayMs: number;
  /** An item that is longer, packed or unpacked, is lost. */
  readonly maxItemBytes: number;
}

/** Who follows the feed. The next call waits for the one before; one that fails ends the subscription. */
export interface FeedReader {
  readonly item: (item: FeedItem, position: Position) => Awaitable<void>;
  /** Something is missing before the next item: the store has it. */
  readonly lost: (lost: Lost) => Awaitable<void>;
}

export interface SubscriberState {
  readonly connected: boolean;
  readonly last: Position | undefined;
  readonly items: number;
  readonly lost: number;
  readonly ignored: IgnoredCounts;
  /** Bytes of messages, also of ignored ones. */
  readonly bytes: number;
  /** How often the stream was read anew from where it was left. */
  readonly reopened: number;
}

/** So many messages are asked for at once: memory is bounded by it and the longest message that servers take. */
const MESSAGES_AT_ONCE = 64;
/** After so long without a message, the stream is asked whether that is so. */
const QUIET_MS = 5_000;
const HEARTBEAT_MS = 1_000;
const REQUEST_TIMEOUT_MS = 2_000;
/** The server forgets a reader that has not asked for so long; it is made again where it was. */
const READER_KEPT_MS = 30_000;

/** Which stream is read, and up to where: one that was made anew begins at 1 again. */
interface Place {
  readonly created: string;
  sequence: number;
}

/**
 * Follows a chain's feed by pulling from its stream, live and replayed alike: one path that keeps the order, resumes where it was
 * after any failure, and leaves what a slow reader has not taken on the server.
 */
export class FeedSubscriber {
  /** Fails when the reader does; otherwise resolves once this is closed. */
  readonly ended: Promise<void>;
  readonly #options: SubscriberOptions;
  readonly #stream: string;
  readonly #link: NatsLink;
  readonly #reader: FeedReader;
  readonly #sequence: FeedSequence;
  #place: Place | undefined;
  /** When the server says this was first asked; replay counts from there. */
  #firstAsked: number | undefined;
  #items = 0;
  #lost = 0;
  #bytes = 0;
  #opened = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: SubscriberOptions, reader: FeedReader, onTrouble: (error: Error) => void) {
    this.#options = options;
    this.#stream = streamOf(options.chain);
    this.#reader = reader;
    this.#sequence = new FeedSequence(options.maxItemBytes);
    this.#link = new NatsLink(options.link, onTrouble);
    this.ended = this.#run();
    // Whoever cares waits for it.
    this.ended.catch(() => {});
  }

  get state(): SubscriberState {
    return {
      connected: this.#link.connected,
      last: this.#sequence.last,
      items: this.#items,
      lost: this.#lost,
      ignored: { ...this.#sequence.ignored },
      bytes: this.#bytes,
      reopened: Math.max(0, this.#opened - 1),
    };
  }

  /** Takes the epoch of the store's root row: see `FeedSequence.fence`. */
  fence(epoch: number): void {
    this.#sequence.fence(epoch);
  }

  /** Stops; resolves once the reader is done with what it has. */
  async close(): Promise<void> {
    await this.#link.close();
    await this.ended.catch(() => {});
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#link.signal.aborted; ) {
      const connection = await this.#link.ready().catch(() => undefined);
      if (connection === undefined) break;
      const before = this.#bytes;
      try {
        await this.#follow(connection);
      } catch (error) {
        if (this.#failure !== undefined) break;
        this.#link.report(error);
        // Who does not answer, as opposed to who refuses, may be cut off from the others.
        const answers = error instanceof JetStreamApiError;
        if (this.#bytes === before && failures > 0 && !answers) await connection.close();
      }
      failures = this.#bytes === before ? failures + 1 : 0;
      await this.#link.backOff(failures);
    }
    if (this.#failure === undefined) return;
    await this.#link.close();
    throw this.#failure.error;
  }

  /** Reads the stream until something is not as it should be. */
  async #follow(connection: NatsConnection): Promise<void> {
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    const manager = await jetstreamManager(connection, options);
    const { consumer, place } = await this.#open(manager, connection);
    let delivered = 0;
    while (!connection.isClosed() && !this.#link.signal.aborted) {
      const before = delivered;
      const messages = await consumer.fetch({
        max_messages: MESSAGES_AT_ONCE,
        expires: QUIET_MS,
        idle_heartbeat: HEARTBEAT_MS,
      });
      for await (const message of messages) {
        delivered++;
        if (message.info.deliverySequence !== delivered) throw new Error('a message was lost on its way');
        await this.#take(message);
        place.sequence = message.info.streamSequence;
        if (this.#link.signal.aborted) return;
      }
      // A stream that moved, or is another by now, may have left this reader behind without a word.
      if (delivered === before && !(await this.#isUpToDate(manager, place))) return;
    }
  }

  async #open(
    manager: JetStreamManager,
    connection: NatsConnection,
  ): Promise<{ readonly consumer: Consumer; readonly place: Place }> {
    const info = await manager.streams.info(this.#stream);
    const reader = await manager.consumers.add(this.#stream, {
      ack_policy: AckPolicy.None,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: nanos(READER_KEPT_MS),
      ...this.#startIn(info),
    });
    this.#opened++;
    this.#place = { created: info.created, sequence: reader.delivered.stream_seq };
    const consumer = jetstream(connection, {
      timeout: REQUEST_TIMEOUT_MS,
    }).consumers.getConsumerFromInfo(reader);
    return { consumer, place: this.#place };
  }

  /** Where to begin: after what was read of this very stream, else at its first message; at first, as far back as is wanted. */
  #startIn({ created, state, ts }: StreamInfo): Partial<ConsumerConfig> {
    this.#firstAsked ??= Date.parse(ts ?? '') || Date.now();
    if (this.#place === undefined) {
      const from = new Date(Math.max(0, this.#firstAsked - this.#options.replayMs));
      return { deliver_policy: DeliverPolicy.StartTime, opt_start_time: from.toISOString() };
    }
    if (this.#place.created !== created || this.#place.sequence > state.last_seq) {
      return { deliver_policy: DeliverPolicy.All };
    }
    return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: this.#place.sequence + 1 };
  }

  async #isUpToDate(manager: JetStreamManager, place: Place): Promise<boolean> {
    const { created, state } = await manager.streams.info(this.#stream);
    return created === place.created && state.last_seq === place.sequence;
  }

  async #take(message: JsMsg): Promise<void> {
    this.#bytes += message.data.length;
    for (const step of this.#sequence.take(message.data)) {
      if (step.kind === 'lost') this.#lost++;
      else this.#items++;
      try {
        if (step.kind === 'lost') await this.#reader.lost(step.lost);
        else await this.#reader.item(step.item, step.position);
      } catch (error) {
        this.#failure = { error };
        throw error;
      }
    }
  }
}
