import { bytes, count, duration, natsUrls, path } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';
import { cqlPlace } from '../store-place.ts';

const SERVE = ['serve'] as const satisfies readonly Command[];
const ON_STORE = ['serve', 'snapshot'] as const satisfies readonly Command[];

/** The rows of the table that are about many processes on one store. */
export const FLEET_OPTIONS = {
  store: {
    group: 'Fleet',
    commands: ON_STORE,
    value: 'URL',
    parse: cqlPlace,
    brief: 'Store of a fleet: cql://HOST,…/KEYSPACE',
    doc: 'Store in Cassandra or another CQL server instead of --data: cql://HOST[:PORT],…/KEYSPACE[?dc=NAME&chain=NAME&replicas=N]. `ingest` writes it, `serve` is a replica of it, `snapshot` reads or fills it.',
  },
  storeCredentials: {
    group: 'Fleet',
    commands: ON_STORE,
    value: 'FILE',
    parse: path,
    doc: 'File with the user of the store and, on its second line, the password.',
  },
  storeLease: {
    group: 'Fleet',
    commands: ON_STORE,
    value: 'DURATION',
    parse: duration({ min: 500, max: 600_000 }),
    default: '2s',
    doc: 'An ingester that shows no sign of life for so long is replaced by one that waits.',
  },
  storeLook: {
    group: 'Fleet',
    commands: SERVE,
    value: 'DURATION',
    parse: duration({ min: 20, max: 5_000 }),
    default: '1s',
    doc: 'Longest pause between two looks of a replica at the store. The feed makes it look at once; without one, this is how late it is.',
  },
  storeGrace: {
    group: 'Fleet',
    commands: ON_STORE,
    value: 'DURATION',
    parse: duration({ min: 1_000, max: 3_600_000 }),
    default: '15s',
    doc: 'How long rows stay that a replica may still look for. A replica that has not heard of the store for half of it answers nothing.',
  },
  feed: {
    group: 'Fleet',
    commands: SERVE,
    value: 'URL',
    parse: natsUrls,
    isSecret: true,
    repeatable: true,
    brief: 'NATS servers of a fleet: nats://HOST:PORT',
    doc: 'NATS servers (JetStream) that carry outcomes from the ingester to replicas: nats://HOST:PORT, or tls://. All of one cluster.',
  },
  feedReplicas: {
    group: 'Fleet',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 3 }),
    default: '1',
    doc: 'NATS servers that keep each message of the feed: 1 or 3.',
  },
  feedBytes: {
    group: 'Fleet',
    commands: SERVE,
    value: 'SIZE',
    parse: bytes({ min: 2 ** 20, max: 2 ** 40 }),
    default: '256MiB',
    doc: 'What the feed keeps for replicas that come late, at most; for ten minutes.',
  },
} as const satisfies Record<string, OptionSpec>;
