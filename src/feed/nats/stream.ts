import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';

/** What a chain's stream keeps for readers that come late. */
export interface StreamOptions {
  readonly maxAgeMs: number;
  readonly maxBytes: number;
  readonly storage: 'memory' | 'file';
  readonly replicas: 1 | 3;
}

const DUPLICATES_KNOWN_MS = 120_000;

/** Names of streams and subjects have no dots, blanks or wildcards in them. */
const CHAIN_NAME = /^[a-z0-9_-]{1,64}$/i;

/** The subject that a chain's items are published to. */
export function subjectOf(chain: string): string {
  return `chain-query.feed.${checkedName(chain)}`;
}

/** The stream that keeps them for a while. */
export function streamOf(chain: string): string {
  return `chain-query-feed-${checkedName(chain)}`;
}

/** Makes a chain's stream, or gives the one that is there these limits. How it is stored cannot be changed, and is left. */
export async function ensureStream(
  manager: JetStreamManager,
  chain: string,
  { maxAgeMs, maxBytes, storage, replicas }: StreamOptions,
): Promise<void> {
  const limits = {
    subjects: [subjectOf(chain)],
    max_age: nanos(maxAgeMs),
    // How long a message that is sent again is known; never longer than it is kept.
    duplicate_window: nanos(Math.min(maxAgeMs, DUPLICATES_KNOWN_MS)),
    max_bytes: maxBytes,
    num_replicas: replicas,
    discard: DiscardPolicy.Old,
  };
  const name = streamOf(chain);
  const found = await findStream(manager, name);
  if (found === undefined) {
    const kind = storage === 'file' ? StorageType.File : StorageType.Memory;
    await manager.streams.add({ name, retention: RetentionPolicy.Limits, storage: kind, ...limits });
    return;
  }
  const { max_age, max_bytes, num_replicas } = found.config;
  const same = max_age === limits.max_age && max_bytes === maxBytes && num_replicas === replicas;
  if (!same) await manager.streams.update(name, limits);
}

/** What is known of a stream; undefined where there is none. */
async function findStream(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)
      return undefined;
    throw error;
  }
}

function checkedName(chain: string): string {
  if (!CHAIN_NAME.test(chain))
    throw new Error(`a chain's name on the feed has letters, digits, - and _: ${chain}`);
  return chain;
}
