import type { Registry } from 'prom-client';
import type { CommandOptions } from '../config/table.ts';
import type { FeedPublisher } from '../feed/nats/publisher.ts';
import type { CqlStore } from '../store/cql/index.ts';
import type { Logger } from '../telemetry/logger.ts';
import { publisherOptions } from './feed-options.ts';
import { measureTold } from './metrics.ts';

/** Opens the feed on which the writer of a store tells replicas what it did; undefined where none is configured. */
export async function openFeed(
  options: CommandOptions<'serve'>,
  store: CqlStore,
  { logger, registry }: { readonly logger: Logger; readonly registry: Registry },
): Promise<FeedPublisher | undefined> {
  const publisher = publisherOptions(options, store.epoch);
  if (publisher === undefined) return undefined;
  const loaded = await import('../feed/nats/publisher.ts');
  const feed = new loaded.FeedPublisher(publisher, (err) => logger.warn({ err }, 'the feed does not answer'));
  measureTold(registry, () => feed.state);
  return feed;
}
