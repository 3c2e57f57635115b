import type { Registry } from 'prom-client';
import type { CommandOptions } from '../config/table.ts';
import { FeedPublisher } from '../feed/nats/publisher.ts';
import type { CqlStore } from '../store/cql/index.ts';
import type { Logger } from '../telemetry/logger.ts';
import { publisherOptions } from './feed-options.ts';
import { measureTold } from './metrics.ts';

/** Opens the feed on which the writer of a store tells replicas what it did; undefined where none is configured. */
export function openFeed(
  options: CommandOptions<'serve'>,
  store: CqlStore,
  { logger, registry }: { readonly logger: Logger; readonly registry: Registry },
): FeedPublisher | undefined {
  const publisher = publisherOptions(options, store.epoch);
  if (publisher === undefined) return undefined;
  const feed = new FeedPublisher(publisher, (err) => logger.warn({ err }, 'the feed does not answer'));
  measureTold(registry, () => feed.state);
  return feed;
}
