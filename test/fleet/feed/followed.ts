import { crc32 } from 'node:zlib';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { FeedItem } from '../../../src/feed/interface.ts';
import { FeedPublisher, type PublisherOptions } from '../../../src/feed/nats/publisher.ts';
import { subjectOf } from '../../../src/feed/nats/stream.ts';
import { FeedSubscriber, type SubscriberOptions } from '../../../src/feed/nats/subscriber.ts';
import { encodeItem } from '../../../src/feed/wire/item-codec.ts';
import { encodeMessages, type Position } from '../../../src/feed/wire/message.ts';
import type { Lost } from '../../../src/feed/wire/sequence.ts';
import { until } from '../../support/servers/process.ts';

export const CHAIN = 'test';
export const MAX_ITEM_BYTES = 16 << 20;

export const at = (sequence: number, epoch = 1): Position => ({ epoch, sequence });
const nameOf = (position: Position | undefined): string =>
  position === undefined ? '?' : `${position.epoch}/${position.sequence}`;

/** An item that names its place and the checksum of its bytes. */
export function itemAt(position: Position, outcome: Uint8Array = new Uint8Array()): FeedItem {
  const place = { index: 0, firstTransaction: 0, firstLog: 0 };
  return { kind: 'preconfirmed', payloadId: nameOf(position), version: crc32(outcome), ...place, outcome };
}

/** The messages of such items, for those who publish them in their own way. */
export function messagesAt(...positions: readonly Position[]): Uint8Array[] {
  return positions.flatMap((position) => encodeMessages(position, encodeItem(itemAt(position)), 1 << 19));
}

export function publisherTo(
  servers: readonly string[],
  options: Partial<PublisherOptions> = {},
): FeedPublisher {
  return new FeedPublisher(
    {
      link: { servers, name: 'writer', maxReconnectMs: 200 },
      chain: CHAIN,
      stream: { maxAgeMs: 600_000, maxBytes: 256 << 20, storage: 'file', replicas: 1 },
      epoch: 1,
      queueItems: 1_000,
      queueBytes: 64 << 20,
      maxItemBytes: MAX_ITEM_BYTES,
      partBytes: 512 << 10,
      ...options,
    },
    () => {},
  );
}

/** Publishes raw messages in this order, acknowledged one by one. */
export async function inject(servers: readonly string[], messages: readonly Uint8Array[]): Promise<void> {
  const connection = await connect({ servers: servers.map((url) => url.replace('nats://', '')) });
  try {
    for (const message of messages) await jetstream(connection).publish(subjectOf(CHAIN), message);
  } finally {
    await connection.close();
  }
}

/** Follows the feed, and keeps what it was told: in a line each, and checked. */
export class Follower implements AsyncDisposable {
  readonly told: string[] = [];
  readonly lost: Lost[] = [];
  /** Contradictions: an item twice, out of order, not what was sent, or after a break that nobody spoke of. */
  readonly wrong: string[] = [];
  readonly troubles: string[] = [];
  readonly subscriber: FeedSubscriber;
  readonly #waitBefore: (sequence: number) => Promise<void> | undefined;
  #last: Position | undefined;
  #mayBreak = false;
  readonly #had = new Set<number>();

  constructor(
    servers: readonly string[],
    options: Partial<SubscriberOptions> = {},
    waitBefore: (sequence: number) => Promise<void> | undefined = () => undefined,
  ) {
    this.#waitBefore = waitBefore;
    this.subscriber = new FeedSubscriber(
      {
        link: { servers, name: 'reader', maxReconnectMs: 200 },
        chain: CHAIN,
        replayMs: 600_000,
        maxItemBytes: MAX_ITEM_BYTES,
        ...options,
      },
      {
        item: (item, position) => this.#item(item, position),
        lost: (lost) => {
          this.#mayBreak = true;
          this.lost.push(lost);
          this.told.push(`lost ${lost.reason} ${nameOf(lost.had)}-${nameOf(lost.came)}`);
        },
      },
      (error) => this.troubles.push(error.message),
    );
  }

  /** Resolves once it was told of an item, or that it is lost. */
  async reaches({ epoch, sequence }: Position, deadlineMs = 20_000): Promise<void> {
    await until(
      `item ${epoch}/${sequence}`,
      () => {
        const { last } = this.subscriber.state;
        return last?.epoch === epoch && last.sequence >= sequence ? true : undefined;
      },
      deadlineMs,
    ).catch((cause: unknown) => {
      const state = JSON.stringify(this.subscriber.state);
      throw new Error(`${state}\n${this.told.slice(-5).join('\n')}\n${this.troubles.slice(-5).join('\n')}`, {
        cause,
      });
    });
  }

  /** The sequences up to the last that were not delivered; of followers of one epoch. */
  missing(): number[] {
    const last = this.subscriber.state.last?.sequence ?? 0;
    return Array.from({ length: last }, (_, index) => index + 1).filter((number) => !this.#had.has(number));
  }

  /** The same by what it was told. */
  saidToBeMissing(): number[] {
    return this.lost.flatMap(({ reason, had, came }) => {
      const first = (had?.sequence ?? 0) + 1;
      const end = (came?.sequence ?? 0) + (reason === 'parts' || reason === 'unreadable' ? 1 : 0);
      return Array.from({ length: end - first }, (_, index) => first + index);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.subscriber.close();
  }

  async #item(item: FeedItem, position: Position): Promise<void> {
    const name = nameOf(position);
    const isIntact =
      item.kind === 'preconfirmed' && item.payloadId === name && crc32(item.outcome) === item.version;
    if (!isIntact) this.wrong.push(`${name} is not what was sent`);
    const last = this.#last;
    const isLater =
      last === undefined ||
      position.epoch > last.epoch ||
      (position.epoch === last.epoch && position.sequence > last.sequence);
    if (!isLater) this.wrong.push(`${name} after ${nameOf(last)}`);
    const follows = position.epoch === last?.epoch && position.sequence === last.sequence + 1;
    if (!follows && !this.#mayBreak) this.wrong.push(`${name} after ${nameOf(last)} without a word`);
    this.#last = position;
    this.#mayBreak = false;
    this.told.push(name);
    this.#had.add(position.sequence);
    await this.#waitBefore(position.sequence);
  }
}
