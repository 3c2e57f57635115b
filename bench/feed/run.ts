import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { FeedItem } from '../../src/feed/interface.ts';
import { FeedPublisher } from '../../src/feed/nats/publisher.ts';
import type { StreamOptions } from '../../src/feed/nats/stream.ts';
import { FeedSubscriber } from '../../src/feed/nats/subscriber.ts';
import { encodeItem } from '../../src/feed/wire/item-codec.ts';
import { encodeMessages } from '../../src/feed/wire/message.ts';
import { FeedSequence } from '../../src/feed/wire/sequence.ts';
import { startNats } from '../../test/support/servers/fleet/nats.ts';
import { until } from '../../test/support/servers/process.ts';
import { quantile } from '../preconfirmed/clock.ts';
import { markdown, type Section } from '../report.ts';
import { busyBlock, LOGS, STATE_WRITES, TRANSACTIONS } from './block.ts';

const MAX_ITEM_BYTES = 64 << 20;
const PART_BYTES = 512 << 10;
/** Between two blocks: enough for each to find an idle feed, as every 200 ms would be. */
const PAUSE_MS = 20;
const KINDS = [
  { nodes: 1, storage: 'memory', replicas: 1 },
  { nodes: 3, storage: 'memory', replicas: 3 },
  { nodes: 3, storage: 'file', replicas: 3 },
] as const;

/** What a block costs on the feed: bytes, work, and time from the writer to a reader. */
export async function feed({ quick }: { readonly quick: boolean }): Promise<Section> {
  const blocks = Array.from({ length: quick ? 30 : 300 }, (_, index) => busyBlock(index + 1));
  const items = blocks.map((block): FeedItem => ({ kind: 'confirmed', removed: [], added: [block] }));
  const [first] = blocks;
  if (first === undefined) throw new Error('no blocks');
  const work = [0, 1].map(() => measureWork(items)).at(-1) ?? [];
  const times: string[][] = [];
  for (const kind of KINDS) {
    console.log(`${items.length} blocks through ${nameOf(kind)}`);
    const lags = await measureLags(items, kind);
    times.push([nameOf(kind), ...[0.5, 0.99, 1].map((share) => quantile(lags, share).toFixed(1))]);
  }
  return {
    name: 'feed',
    facts: [
      `Blocks of ${TRANSACTIONS} transactions, ${LOGS} logs and ${STATE_WRITES} state writes, made up; ${first.outcome.length.toLocaleString('en-US')} bytes as the native core writes them.`,
      'CPU time of the whole process, so with what zstd does; the outcome itself is not decoded.',
      `From the call of the publisher to the call of the reader, both in one process, a block every ${PAUSE_MS} ms: encoding, compressing, acknowledging, delivering, decoding. The servers share the machine, whose load average was ${loadavg()[0]?.toFixed(1)}.`,
    ],
    tables: [
      markdown(['a block', 'figure'], work),
      markdown(['publish to delivered, ms', 'p50', 'p99', 'most'], times),
    ],
  };
}

function nameOf({ nodes, storage }: (typeof KINDS)[number]): string {
  return `${nodes} ${nodes === 1 ? 'server' : 'servers'}, ${storage}`;
}

/** Bytes, and milliseconds of CPU to encode and to decode; the first run of it only warms up. */
function measureWork(items: readonly FeedItem[]): string[][] {
  const before = process.cpuUsage();
  const messages = items.map((item, index) =>
    encodeMessages({ epoch: 1, sequence: index + 1 }, encodeItem(item), PART_BYTES),
  );
  const encoding = process.cpuUsage(before);
  const between = process.cpuUsage();
  const sequence = new FeedSequence(MAX_ITEM_BYTES);
  let delivered = 0;
  for (const message of messages.flat()) {
    delivered += sequence.take(message).filter(({ kind }) => kind === 'item').length;
  }
  const decoding = process.cpuUsage(between);
  if (delivered !== items.length) throw new Error(`${delivered} of ${items.length} came back`);
  const each = ({ user, system }: NodeJS.CpuUsage): string =>
    ((user + system) / 1_000 / items.length).toFixed(2);
  const bytes = messages.flat().reduce((sum, { length }) => sum + length, 0) / items.length;
  return [
    ['bytes on the feed', Math.round(bytes).toLocaleString('en-US')],
    ['ms of CPU to encode', each(encoding)],
    ['ms of CPU to decode', each(decoding)],
  ];
}

async function measureLags(items: readonly FeedItem[], kind: (typeof KINDS)[number]): Promise<number[]> {
  await using nats = await startNats({ nodes: kind.nodes });
  await using stack = new AsyncDisposableStack();
  const link = { servers: nats.servers.map((server) => `nats://${server}`), name: 'bench' };
  const stream: StreamOptions = { ...kind, maxAgeMs: 600_000, maxBytes: 128 << 20 };
  const fail = (error: Error): void => console.log(error.message);
  const publisher = new FeedPublisher(
    {
      ...{ link, chain: 'bench', stream, epoch: 1, queueItems: 1_000, queueBytes: 1 << 28 },
      maxItemBytes: MAX_ITEM_BYTES,
      partBytes: PART_BYTES,
    },
    fail,
  );
  stack.defer(() => publisher.close());
  const sent: number[] = [];
  const lags: number[] = [];
  publisher.publish({ kind: 'marked' });
  await until('the stream', () => (publisher.state.acknowledged === 1 ? true : undefined));
  const subscriber = new FeedSubscriber(
    { link, chain: 'bench', replayMs: 60_000, maxItemBytes: MAX_ITEM_BYTES },
    {
      item: (_, { sequence }) => {
        lags[sequence] = performance.now() - (sent[sequence] ?? Number.NaN);
      },
      lost: ({ reason }) => {
        if (reason !== 'start') throw new Error(`lost ${reason}`);
      },
    },
    fail,
  );
  stack.defer(() => subscriber.close());
  await until('the reader', () => (subscriber.state.items === 1 ? true : undefined));
  for (const item of items) {
    sent[publisher.state.sequence + 1] = performance.now();
    publisher.publish(item);
    await delay(PAUSE_MS);
  }
  await until('the last block', () => (subscriber.state.items === items.length + 1 ? true : undefined));
  return lags.slice(2);
}
