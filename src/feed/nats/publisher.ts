import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type JetStreamClient, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { FeedItem } from '../interface.ts';
import { approximateBytes, encodeItem } from '../wire/item-codec.ts';
import { encodeMessages } from '../wire/message.ts';
import { NatsLink, type NatsLinkOptions } from './link.ts';
import { ensureStream, type StreamOptions, subjectOf } from './stream.ts';

export interface PublisherOptions {
  readonly link: NatsLinkOptions;
  readonly chain: string;
  readonly stream: StreamOptions;
  /** The writer's epoch: its lease's, higher than that of any writer before. */
  readonly epoch: number;
  /** What may wait to be sent; the oldest are dropped beyond it. */
  readonly queueItems: number;
  readonly queueBytes: number;
  /** A longer item is not sent: readers would not take it. */
  readonly maxItemBytes: number;
  /** The longest message; never more than the server takes. */
  readonly partBytes: number;
}

export interface PublisherState {
  readonly connected: boolean;
  /** The last sequence that was given to an item, and the last whose messages were all acknowledged. */
  readonly sequence: number;
  readonly acknowledged: number;
  readonly queuedItems: number;
  readonly queuedBytes: number;
  /** Items given up: readers see a gap and read the store, unless it was only the acknowledgement that got lost. */
  readonly dropped: number;
  /** Messages sent again. */
  readonly retries: number;
  /** Bytes of acknowledged messages. */
  readonly bytes: number;
}

interface Queued {
  readonly sequence: number;
  readonly item: FeedItem;
  readonly bytes: number;
}

/** What an item counts beside its bytes. */
const ITEM_OVERHEAD = 128;
const ACK_TIMEOUT_MS = 2_000;
/** After so many failures in a row the next server is tried: this one may be cut off from the others. */
const ATTEMPTS_A_SERVER = 2;
/** A message that was sent so often in vain, for so long, is given up; what follows it may fare better. */
const MAX_ATTEMPTS = 10;
const GIVE_UP_MS = 30_000;
/** What the server counts beside the payload: the header with the id. */
const HEADER_BYTES = 256;

/**
 * Publishes what happens to a chain, in order: a message is sent when the one before it was acknowledged. Never holds up who
 * publishes: without NATS it drops items, counts them and goes on, since the store has all of them.
 */
export class FeedPublisher {
  readonly #options: PublisherOptions;
  readonly #subject: string;
  readonly #link: NatsLink;
  /** Names the messages of this publisher, so that one that is sent again is stored once. */
  readonly #id = randomUUID();
  readonly #queue: Queued[] = [];
  #queuedBytes = 0;
  #sequence = 0;
  #acknowledged = 0;
  #dropped = 0;
  #retries = 0;
  #bytes = 0;
  #sending: Promise<void> | undefined;
  #closed = false;
  /** For the connection that it was made of; a stream was made sure of by then. */
  #client: { readonly connection: NatsConnection; readonly jetstream: JetStreamClient } | undefined;

  constructor(options: PublisherOptions, onTrouble: (error: Error) => void) {
    this.#options = options;
    this.#subject = subjectOf(options.chain);
    this.#link = new NatsLink(options.link, onTrouble);
  }

  get state(): PublisherState {
    return {
      connected: this.#link.connected,
      sequence: this.#sequence,
      acknowledged: this.#acknowledged,
      queuedItems: this.#queue.length,
      queuedBytes: this.#queuedBytes,
      dropped: this.#dropped,
      retries: this.#retries,
      bytes: this.#bytes,
    };
  }

  /** Takes the next item; returns at once. Its bytes must not change any more. */
  publish(item: FeedItem): void {
    // One that is dropped has a sequence too: that is how readers know.
    const sequence = ++this.#sequence;
    const bytes = approximateBytes(item) + ITEM_OVERHEAD;
    if (this.#closed || bytes > this.#options.maxItemBytes) {
      this.#dropped++;
      return;
    }
    this.#queue.push({ sequence, item, bytes });
    this.#queuedBytes += bytes;
    const { queueItems, queueBytes } = this.#options;
    while (this.#queue.length > queueItems || this.#queuedBytes > queueBytes) {
      this.#take();
      this.#dropped++;
    }
    if (this.#queue.length > 0) this.#sending ??= this.#sendAll();
  }

  /** Takes no more, and gives what is queued `milliseconds` to be sent. */
  async close(milliseconds = 0): Promise<void> {
    this.#closed = true;
    const late = new AbortController();
    const over = delay(milliseconds, undefined, { signal: late.signal }).catch(() => {});
    await Promise.race([this.#sending, over]);
    late.abort();
    await this.#link.close();
    await this.#sending;
  }

  #take(): Queued | undefined {
    const first = this.#queue.shift();
    this.#queuedBytes -= first?.bytes ?? 0;
    return first;
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      if (await this.#sendItem(next)) this.#acknowledged = next.sequence;
      else this.#dropped++;
    }
    this.#sending = undefined;
  }

  async #sendItem({ sequence, item }: Queued): Promise<boolean> {
    let part = 0;
    for (const message of await this.#encode(sequence, item)) {
      if (!(await this.#send(message, `${this.#id}-${sequence}-${part++}`))) return false;
      this.#bytes += message.length;
    }
    return part > 0;
  }

  /** The messages of an item; none where it cannot be sent at all. */
  async #encode(sequence: number, item: FeedItem): Promise<readonly Uint8Array[]> {
    const { epoch, maxItemBytes, partBytes } = this.#options;
    try {
      const { info } = await this.#link.ready();
      const encoded = encodeItem(item);
      if (encoded.length > maxItemBytes) return [];
      const most = (info?.max_payload ?? Number.POSITIVE_INFINITY) - HEADER_BYTES;
      return encodeMessages({ epoch, sequence }, encoded, Math.min(partBytes, most));
    } catch (error) {
      this.#link.report(error);
      return [];
    }
  }

  /** Sends one message until it is acknowledged, was sent too often, or this is closed. */
  async #send(message: Uint8Array, msgID: string): Promise<boolean> {
    const began = performance.now();
    for (let failures = 1; failures <= MAX_ATTEMPTS || performance.now() - began < GIVE_UP_MS; failures++) {
      const connection = await this.#link.ready().catch(() => undefined);
      if (connection === undefined) return false;
      try {
        const client = await this.#clientOf(connection);
        await client.publish(this.#subject, message, { msgID, timeout: ACK_TIMEOUT_MS });
        return true;
      } catch (error) {
        this.#link.report(error);
        this.#retries++;
        // The stream may be gone, with the server that had it.
        this.#client = undefined;
        if (failures % ATTEMPTS_A_SERVER === 0) await connection.close();
        await this.#link.backOff(failures);
      }
    }
    return false;
  }

  async #clientOf(connection: NatsConnection): Promise<JetStreamClient> {
    if (this.#client?.connection === connection) return this.#client.jetstream;
    const options = { timeout: ACK_TIMEOUT_MS, checkAPI: false };
    await ensureStream(
      await jetstreamManager(connection, options),
      this.#options.chain,
      this.#options.stream,
    );
    this.#client = { connection, jetstream: jetstream(connection, options) };
    return this.#client.jetstream;
  }
}
