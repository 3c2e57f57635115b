import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Client, policies, types } from 'cassandra-driver';
import { cassandraJars } from '../paths.ts';
import { type Running, start, until } from '../process.ts';
import { type Cluster, type Member, startCluster } from './cluster.ts';

export interface Cassandra extends Cluster {
  /** `address:port` of each node, as the driver takes them. */
  readonly contactPoints: readonly string[];
  /** What drivers must be told to prefer. */
  readonly localDataCenter: string;
}

export interface CassandraOptions {
  readonly nodes?: 1 | 3;
  readonly heapMiB?: number;
  /** `periodic`, as most run it: a write is acknowledged before it is on disk. `batch`: after. */
  readonly commitlogSync?: 'periodic' | 'batch';
  /** Has Java compile hot code as well as it can, which only pays after minutes: for measurements. */
  readonly optimised?: boolean;
  /** Where clients are told to find each node, by its address; itself if left out. */
  readonly frontOf?: (address: string) => string;
  /** How long a node waits for others before it refuses what it was asked. */
  readonly timeoutMs?: number;
}

/** The name that SimpleSnitch gives. */
const DATA_CENTER = 'datacenter1';
export const CQL_PORT = 9042;
const STORAGE_PORT = 7000;

/** What Cassandra needs opened of Java 17, as its own start script has it. */
const EXPORTS = [
  'java.base/jdk.internal.misc',
  'java.base/jdk.internal.ref',
  'java.base/sun.nio.ch',
  'java.management.rmi/com.sun.jmx.remote.internal.rmi',
  'java.rmi/sun.rmi.registry',
  'java.rmi/sun.rmi.server',
  'java.sql/java.sql',
];
const OPENS = [
  'java.base/java.lang.module',
  'java.base/jdk.internal.loader',
  'java.base/jdk.internal.ref',
  'java.base/jdk.internal.reflect',
  'java.base/jdk.internal.math',
  'java.base/jdk.internal.module',
  'java.base/jdk.internal.util.jar',
  'jdk.management/com.sun.management.internal',
  'java.base/sun.nio.ch',
  'java.base/java.io',
  'java.base/java.lang',
  'java.base/java.lang.reflect',
  'java.base/java.util',
  'java.base/java.util.concurrent',
  'java.base/java.util.concurrent.atomic',
  'java.base/java.nio',
];

const LOGBACK = `<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %p %logger{0} %m%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="out"/></root>
</configuration>
`;

const SYNC = {
  periodic: 'commitlog_sync: periodic\ncommitlog_sync_period: 10s',
  batch: 'commitlog_sync: batch',
} as const;

/**
 * Every node is a seed with a token of its own and nothing to fetch from others: all can start at the same time. Files are
 * compressed as their table says from the start, so that their sizes can be compared.
 */
function config(
  member: Member,
  all: readonly Member[],
  { commitlogSync = 'periodic', timeoutMs = 2_000, frontOf = (address) => address }: CassandraOptions,
): string {
  const seeds = all.map(({ address }) => `${address}:${STORAGE_PORT}`).join(',');
  const token = -(2n ** 63n) + (2n ** 64n / BigInt(all.length)) * BigInt(member.index);
  const data = join(member.folder, 'data');
  return `cluster_name: test
num_tokens: 1
initial_token: '${token}'
auto_bootstrap: false
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
data_file_directories: [${data}/data]
commitlog_directory: ${data}/commitlog
saved_caches_directory: ${data}/saved
hints_directory: ${data}/hints
cdc_raw_directory: ${data}/cdc
${SYNC[commitlogSync]}
read_request_timeout: ${timeoutMs}ms
range_request_timeout: ${timeoutMs}ms
write_request_timeout: ${timeoutMs}ms
cas_contention_timeout: ${timeoutMs}ms
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{seeds: "${seeds}"}]
listen_address: ${member.address}
rpc_address: ${member.address}
broadcast_rpc_address: ${frontOf(member.address)}
storage_port: ${STORAGE_PORT}
native_transport_port: ${CQL_PORT}
start_native_transport: true
endpoint_snitch: SimpleSnitch
authenticator: AllowAllAuthenticator
authorizer: AllowAllAuthorizer
storage_compatibility_mode: NONE
sstable: {selected_format: bti}
memtable: {configurations: {default: {class_name: TrieMemtable}}}
flush_compression: table
concurrent_reads: 8
concurrent_writes: 8
concurrent_compactors: 1
auto_snapshot: false
`;
}

async function launch(member: Member, all: readonly Member[], options: CassandraOptions): Promise<Running> {
  const { heapMiB = 512, optimised = false } = options;
  const yaml = join(member.folder, 'cassandra.yaml');
  const logback = join(member.folder, 'logback.xml');
  await writeFile(yaml, config(member, all, options));
  await writeFile(logback, LOGBACK);
  return start('java', [
    ...[`-Xms${heapMiB}m`, `-Xmx${heapMiB}m`, '-XX:+UseG1GC', '-Xss512k'],
    ...(optimised ? [] : ['-XX:TieredStopAtLevel=1']),
    ...EXPORTS.flatMap((name) => ['--add-exports', `${name}=ALL-UNNAMED`]),
    ...OPENS.flatMap((name) => ['--add-opens', `${name}=ALL-UNNAMED`]),
    '-Djdk.attach.allowAttachSelf=true',
    `-Dcassandra.config=file://${yaml}`,
    `-Dcassandra.storagedir=${join(member.folder, 'data')}`,
    `-Dlogback.configurationFile=${logback}`,
    // No port for JMX is given: none is opened.
    ...['-Dcassandra.skip_wait_for_gossip_to_settle=0', '-Dcassandra.ring_delay_ms=500'],
    ...['-Dcassandra-foreground=yes', '-cp', `${member.folder}:${cassandraJars()}/*`],
    'org.apache.cassandra.service.CassandraDaemon',
  ]);
}

/** A node says that it is about to listen, and on a busy machine it takes its time. */
async function isListening(address: string): Promise<void> {
  await until(
    `${address} to take connections`,
    () =>
      new Promise<true>((resolve, reject) => {
        const socket = connect(CQL_PORT, address, () => {
          socket.destroy();
          resolve(true);
        });
        socket.on('error', reject);
      }),
  );
}

/** Waits until a node reaches all three replicas of a keyspace that Cassandra itself has. */
async function reachesAll(contactPoint: string): Promise<void> {
  const { loadBalancing } = policies;
  const only = new loadBalancing.AllowListPolicy(new loadBalancing.RoundRobinPolicy(), [contactPoint]);
  const client = new Client({
    contactPoints: [contactPoint],
    localDataCenter: DATA_CENTER,
    policies: { loadBalancing: only },
  });
  try {
    await until(`${contactPoint} to reach all nodes`, () =>
      client.execute('SELECT * FROM system_distributed.view_build_status LIMIT 1', [], {
        consistency: types.consistencies.all,
      }),
    );
  } finally {
    await client.shutdown();
  }
}

/** Cassandra, one node or three, in which every node can hold everything. Three nodes take 10 to 25 s. */
export async function startCassandra(options: CassandraOptions = {}): Promise<Cassandra> {
  const cluster = await startCluster(
    {
      name: 'cassandra',
      launch: (member, all) => launch(member, all, options),
      ready: /Starting listening for CQL clients/,
    },
    options.nodes ?? 1,
  );
  const contactPoints = cluster.addresses.map((address) => `${address}:${CQL_PORT}`);
  try {
    await Promise.all(cluster.addresses.map(isListening));
    if (contactPoints.length > 1) await Promise.all(contactPoints.map(reachesAll));
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
  return { ...cluster, contactPoints, localDataCenter: DATA_CENTER };
}
