import { join } from 'node:path';
import { startCassandra } from '../support/servers/fleet/cassandra.ts';
import { fleetOptions, startMember } from '../support/servers/fleet/members.ts';
import { startNats } from '../support/servers/fleet/nats.ts';
import { startCli } from '../support/servers/node.ts';
import type { FollowingNode } from '../support/servers/our-node.ts';

export interface PreconfirmedFleet {
  /** Executes flashblocks. */
  readonly ingester: FollowingNode;
  /** Replicas, which execute none; each look at the URL is at one of them at random. */
  readonly replicas: FollowingNode;
  readonly each: readonly FollowingNode[];
}

const REPLICAS = 3;

/** Two ingesters that listen to flashblocks, of which one waits, and replicas that have them of the feed; three nodes of all servers. */
export async function startPreconfirmedFleet(
  resources: AsyncDisposableStack,
  folder: string,
  options: {
    readonly upstream: string;
    readonly rules: string;
    readonly flashblocks: readonly string[];
    readonly more: readonly string[];
  },
): Promise<PreconfirmedFleet> {
  const [cassandra, nats] = await Promise.all([startCassandra({ nodes: 3 }), startNats({ nodes: 3 })]);
  resources.use(cassandra);
  resources.use(nats);
  const common = [
    ...fleetOptions({ cassandra, nats }),
    ...['--chain', options.rules, '--upstream', options.upstream, '--upstream-poll-ms', '50'],
    ...['--threads', '2', '--compat', 'execution-apis'],
    ...options.more,
  ];
  const start = async (name: string, args: readonly string[]): Promise<FollowingNode> =>
    resources.use(await startMember([...args, ...common], join(folder, `${name}.json`)));
  const streams = options.flashblocks.flatMap((url) => ['--flashblocks', url]);
  const ingester = await start('ingest', ['ingest', ...streams]);
  const waiting = startCli(['ingest', ...streams, ...common, '--admin', '127.0.0.1:0']);
  resources.defer(() => waiting.stop());
  const replicas = await Promise.all(
    Array.from({ length: REPLICAS }, (_, at) => start(`replica-${at}`, ['serve'])),
  );
  const [first] = replicas;
  if (first === undefined) throw new Error('no replica was started');
  const urls = replicas.map(({ url }) => url);
  return {
    ingester,
    each: replicas,
    replicas: {
      ...first,
      get url() {
        return urls[Math.floor(Math.random() * urls.length)] ?? first.url;
      },
    },
  };
}
