import { hostname } from 'node:os';
import type { CommandOptions } from '../config/table.ts';
import type { PublisherOptions } from '../feed/nats/publisher.ts';
import type { SubscriberOptions } from '../feed/nats/subscriber.ts';

type FeedOptions = Pick<CommandOptions<'serve'>, 'store' | 'feed' | 'feedReplicas' | 'feedBytes'>;

/** What replicas that come late can still have. */
const KEPT_MS = 600_000;
/** Longer than any chain with flashblocks takes for a block; what is older, a replica ignores. */
const UNDER_WAY_MS = 30_000;
const QUEUE_ITEMS = 1_024;
const QUEUE_BYTES = 2 ** 26;
const MAX_ITEM_BYTES = 2 ** 26;
/** What NATS servers take without being told otherwise is 1 MiB. */
const PART_BYTES = 2 ** 19;

/** How a chain's writer reaches its feed, as configured; undefined where there is none. */
export function publisherOptions(options: FeedOptions, epoch: bigint): PublisherOptions | undefined {
  const place = feedPlace(options);
  return (
    place && {
      ...place,
      stream: {
        maxAgeMs: KEPT_MS,
        maxBytes: options.feedBytes,
        storage: 'memory',
        replicas: options.feedReplicas === 3 ? 3 : 1,
      },
      epoch: Number(epoch),
      queueItems: QUEUE_ITEMS,
      queueBytes: QUEUE_BYTES,
      maxItemBytes: MAX_ITEM_BYTES,
      partBytes: PART_BYTES,
    }
  );
}

/** The same for a replica, which has read the store and needs of what was before only how the block under way began. */
export function subscriberOptions(options: FeedOptions): SubscriberOptions | undefined {
  const place = feedPlace(options);
  return place && { ...place, replayMs: UNDER_WAY_MS, maxItemBytes: MAX_ITEM_BYTES };
}

function feedPlace({ store, feed }: FeedOptions): Pick<SubscriberOptions, 'link' | 'chain'> | undefined {
  if (store === undefined || feed === undefined) return undefined;
  // Streams of several stores may share servers.
  const chain = `${store.keyspace}-${store.chain}`.slice(0, 64);
  return { link: { servers: feed, name: `chain-query-${hostname()}-${process.pid}` }, chain };
}
