import { join } from 'node:path';
import { startCassandra } from '../support/servers/fleet/cassandra.ts';
import { fleetOptions, startMember } from '../support/servers/fleet/members.ts';
import { startNats } from '../support/servers/fleet/nats.ts';
import type { FollowingNode } from '../support/servers/our-node.ts';

export interface PreconfirmedFleet {
  /** Executes flashblocks. */
  readonly ingester: FollowingNode;
  /** Replicas, which execute none; each look at the URL is at one of them at random. */
  readonly replicas: FollowingNode;
  readonly each: readonly FollowingNode[];
}

const REPLICAS = 2;

/** An ingester that listens to flashblocks, and replicas that have them of its feed. */
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
  const [cassandra, nats] = await Promise.all([startCassandra({ nodes: 1 }), startNats({ nodes: 1 })]);
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
