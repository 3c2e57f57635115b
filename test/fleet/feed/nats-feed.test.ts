import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { streamOf } from '../../../src/feed/nats/stream.ts';
import { FeedSubscriber } from '../../../src/feed/nats/subscriber.ts';
import { startNats } from '../../support/servers/fleet/nats.ts';
import { until } from '../../support/servers/process.ts';
import { at, CHAIN, Follower, inject, itemAt, MAX_ITEM_BYTES, messagesAt, publisherTo } from './followed.ts';
import { startMuteServer } from './mute-server.ts';

const urlsOf = ({ servers }: { readonly servers: readonly string[] }): string[] =>
  servers.map((server) => `nats://${server}`);

/** Publishes items from one sequence to another, and waits until they are stored. */
async function publishTo(publisher: ReturnType<typeof publisherTo>, last: number, epoch = 1): Promise<void> {
  while (publisher.state.sequence < last) publisher.publish(itemAt(at(publisher.state.sequence + 1, epoch)));
  await until(`${last} to be stored`, () => (publisher.state.acknowledged === last ? true : undefined));
}

it('tells every reader every item once, whether it was there or comes late', async () => {
  await using nats = await startNats();
  const urls = urlsOf(nats);
  // It waits for the stream, which only the writer makes.
  await using early = new Follower(urls);
  const publisher = publisherTo(urls);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => publisher.close());
  await publishTo(publisher, 3);
  await early.reaches(at(3));
  await using late = new Follower(urls);
  await late.reaches(at(3));
  await using fresh = new Follower(urls, { replayMs: 0 });
  await until('the fresh one', () => (fresh.subscriber.state.connected ? true : undefined));
  await publishTo(publisher, 4);
  for (const follower of [early, late]) {
    await follower.reaches(at(4));
    expect(follower.told).toEqual(['lost start ?-1/1', '1/1', '1/2', '1/3', '1/4']);
  }
  await fresh.reaches(at(4));
  expect(fresh.told.at(-1)).toBe('1/4');
  expect(fresh.told[0]).toMatch(/^lost start/);
  expect(publisher.state).toMatchObject({ connected: true, dropped: 0, queuedItems: 0, queuedBytes: 0 });
});

it('says where something is missing, and takes no message twice', async () => {
  await using nats = await startNats();
  const urls = urlsOf(nats);
  const publisher = publisherTo(urls);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => publisher.close());
  await publishTo(publisher, 2);
  await using follower = new Follower(urls);
  await inject(urls, [
    ...messagesAt(at(2), at(1), at(3), at(6), at(4), at(5), at(6)),
    Buffer.from('nonsense'),
    Buffer.from([1, 2, 3, 4, 5, 6]),
    ...messagesAt(at(7)),
  ]);
  await follower.reaches(at(7));
  expect(follower.told).toEqual([
    'lost start ?-1/1',
    '1/1',
    '1/2',
    '1/3',
    'lost gap 1/3-1/6',
    '1/6',
    'lost format 1/6-?',
    '1/7',
  ]);
  expect(follower.subscriber.state).toMatchObject({
    items: 5,
    lost: 3,
    ignored: { stale: 0, repeated: 5, unreadable: 1 },
  });
});

it('goes over to the writer of a higher epoch, and ignores the one before that wakes up', async () => {
  await using nats = await startNats();
  const urls = urlsOf(nats);
  await using stack = new AsyncDisposableStack();
  const [old, successor] = [1, 2].map((epoch) => publisherTo(urls, { epoch }));
  if (old === undefined || successor === undefined) throw new Error('no writers');
  for (const writer of [old, successor]) stack.defer(() => writer.close());
  await using follower = new Follower(urls);
  await publishTo(old, 2);
  await publishTo(successor, 1, 2);
  await publishTo(old, 4);
  await publishTo(successor, 2, 2);
  await follower.reaches(at(2, 2));
  expect(follower.told).toEqual(['lost start ?-1/1', '1/1', '1/2', 'lost epoch 1/2-2/1', '2/1', '2/2']);
  expect(follower.subscriber.state.ignored.stale).toBe(2);
  // Someone whose epoch is not that of the store cannot silence those who have it.
  await inject(urls, messagesAt(at(1, 99)));
  await follower.reaches(at(1, 99));
  follower.subscriber.fence(2);
  await publishTo(successor, 3, 2);
  await follower.reaches(at(3, 2));
  expect(follower.told.slice(-2)).toEqual(['lost start ?-2/3', '2/3']);
  expect(follower.wrong).toEqual(['2/3 after 99/1']);
});

it('does not hold up the writer without NATS: it drops the oldest, and readers hear of the gap', async () => {
  await using nats = await startNats();
  const urls = urlsOf(nats);
  const publisher = publisherTo(urls, { queueItems: 10 });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => publisher.close());
  await using follower = new Follower(urls);
  await publishTo(publisher, 5);
  await follower.reaches(at(5));
  await nats.kill(0);
  await until('the writer to notice', () => (publisher.state.connected ? undefined : true));
  const began = performance.now();
  for (let sequence = 6; sequence <= 105; sequence++) publisher.publish(itemAt(at(sequence)));
  expect(performance.now() - began).toBeLessThan(500);
  // The first of them is being sent; it is not in the queue any more.
  expect(publisher.state).toMatchObject({ sequence: 105, queuedItems: 10, dropped: 89 });
  await nats.restart(0);
  await follower.reaches(at(105));
  const kept = Array.from({ length: 10 }, (_, index) => `1/${96 + index}`);
  expect(follower.told.slice(-12)).toEqual(['1/6', 'lost gap 1/6-1/96', ...kept]);
  expect(follower.wrong).toEqual([]);
  expect(publisher.state).toMatchObject({ acknowledged: 105, dropped: 89 });
});

it('bounds the queue by bytes, and sends nothing that readers would not take', async () => {
  await using nats = await startNats();
  const urls = urlsOf(nats);
  const publisher = publisherTo(urls, { queueBytes: 10_000, maxItemBytes: 20_000 });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => publisher.close());
  const large = (sequence: number, bytes: number) => itemAt(at(sequence), Buffer.alloc(bytes, sequence));
  publisher.publish(large(1, 30_000));
  for (let sequence = 2; sequence <= 9; sequence++) publisher.publish(large(sequence, 3_000));
  expect(publisher.state).toMatchObject({ queuedItems: 3, dropped: 5 });
  expect(publisher.state.queuedBytes).toBeLessThanOrEqual(10_000);
  await using follower = new Follower(urls);
  await follower.reaches(at(9));
  expect(follower.told).toEqual(['lost start ?-1/2', '1/2', 'lost gap 1/2-1/7', '1/7', '1/8', '1/9']);
  // One that the queue cannot hold by itself is dropped, and stops nothing.
  publisher.publish(large(10, 15_000));
  publisher.publish(large(11, 3_000));
  await follower.reaches(at(11));
  expect(follower.told.slice(-2)).toEqual(['lost gap 1/9-1/11', '1/11']);
});

it('goes on in a stream that was made anew, also by the server that had it in memory only', async () => {
  await using nats = await startNats();
  const urls = urlsOf(nats);
  const stream = { maxAgeMs: 600_000, maxBytes: 1 << 24, storage: 'memory', replicas: 1 } as const;
  const publisher = publisherTo(urls, { stream });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => publisher.close());
  await using follower = new Follower(urls);
  await publishTo(publisher, 20);
  await follower.reaches(at(20));
  await nats.kill(0);
  await nats.restart(0);
  await publishTo(publisher, 25);
  await follower.reaches(at(25));
  const connection = await connect({ servers: [...nats.servers] });
  stack.defer(() => connection.close());
  await (await jetstreamManager(connection)).streams.delete(streamOf(CHAIN));
  await publishTo(publisher, 30);
  await follower.reaches(at(30));
  expect(follower.told).toEqual([
    'lost start ?-1/1',
    ...Array.from({ length: 30 }, (_, index) => `1/${index + 1}`),
  ]);
});

it('leaves what a slow reader has not taken on the server, and says what has gone from there', async () => {
  await using nats = await startNats();
  const urls = urlsOf(nats);
  const publisher = publisherTo(urls, {
    stream: { maxAgeMs: 600_000, maxBytes: 40_000, storage: 'file', replicas: 1 },
  });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => publisher.close());
  const gate = Promise.withResolvers<void>();
  await using follower = new Follower(urls, {}, (sequence) => (sequence === 1 ? gate.promise : undefined));
  await publishTo(publisher, 1);
  await follower.reaches(at(1));
  // Two messages for one that the stream has room for.
  await publishTo(publisher, 600);
  gate.resolve();
  await follower.reaches(at(600));
  expect(follower.wrong).toEqual([]);
  expect(follower.lost.map(({ reason }) => reason)).toEqual(['start', 'gap']);
  const [, gap] = follower.lost;
  const missing = (gap?.came?.sequence ?? 0) - (gap?.had?.sequence ?? 0) - 1;
  expect(missing).toBeGreaterThan(0);
  expect(follower.subscriber.state.items).toBe(600 - missing);
});

it('ends when its reader fails, and gives the reason', async () => {
  await using nats = await startNats();
  const urls = urlsOf(nats);
  const publisher = publisherTo(urls);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => publisher.close());
  const subscriber = new FeedSubscriber(
    { link: { servers: urls, name: 'reader' }, chain: CHAIN, replayMs: 1_000, maxItemBytes: MAX_ITEM_BYTES },
    {
      item: () => {
        throw new Error('the store is gone');
      },
      lost: () => {},
    },
    () => {},
  );
  await publishTo(publisher, 1);
  await expect(subscriber.ended).rejects.toThrow('the store is gone');
  expect(subscriber.state.connected).toBe(false);
});

it('leaves a server that answers nothing for the next one', async () => {
  await using nats = await startNats();
  await using mute = await startMuteServer();
  await using stack = new AsyncDisposableStack();
  const urls = [...urlsOf(nats), mute.url];
  // Which server is tried first is chance: as many as it takes for a writer and a reader to begin with the mute one.
  interface Client {
    readonly state: { readonly connected: boolean };
    close(): Promise<void>;
  }
  const beginsMute = async (start: () => Client): Promise<void> => {
    const before = mute.connections();
    for (let tries = 0; mute.connections() === before; tries++) {
      expect(tries).toBeLessThan(50);
      const client = start();
      stack.defer(() => client.close());
      await until('a connection', () => (client.state.connected ? true : undefined));
    }
  };
  const followers: Follower[] = [];
  await beginsMute(() => {
    const follower = new Follower(urls);
    followers.push(follower);
    return follower.subscriber;
  });
  let publisher = publisherTo(urls);
  stack.defer(() => publisher.close());
  await beginsMute(() => {
    publisher = publisherTo(urls);
    return publisher;
  });
  await publishTo(publisher, 3);
  for (const follower of followers) {
    await follower.reaches(at(3), 40_000);
    expect(follower.told).toEqual(['lost start ?-1/1', '1/1', '1/2', '1/3']);
  }
});
