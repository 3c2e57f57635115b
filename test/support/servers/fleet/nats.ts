import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { natsBinary } from '../paths.ts';
import { type Running, start, until } from '../process.ts';
import { type Cluster, type Member, startCluster } from './cluster.ts';

export interface Nats extends Cluster {
  /** `address:port` of each node, as clients take them. */
  readonly servers: readonly string[];
}

const CLIENT_PORT = 4222;
const ROUTE_PORT = 6222;

function config(member: Member, all: readonly Member[], settings: string): string {
  const own = `server_name: node-${member.index}
listen: "${member.address}:${CLIENT_PORT}"
jetstream { store_dir: "${join(member.folder, 'jetstream')}", max_mem: 256MB, max_file: 1GB }
${settings}
`;
  if (all.length === 1) return own;
  const routes = all.map(({ address }) => `"nats://${address}:${ROUTE_PORT}"`).join(', ');
  return `${own}cluster { name: test, listen: "${member.address}:${ROUTE_PORT}", routes: [${routes}] }\n`;
}

async function launch(member: Member, all: readonly Member[], settings: string): Promise<Running> {
  const file = join(member.folder, 'nats.conf');
  await writeFile(file, config(member, all, settings));
  return start(natsBinary(), ['-c', file]);
}

export interface NatsSettings {
  readonly nodes?: 1 | 3;
  /** More lines of each node's config file. */
  readonly settings?: string;
}

/** NATS with JetStream, one node or three. */
export async function startNats({ nodes = 1, settings = '' }: NatsSettings = {}): Promise<Nats> {
  const program = {
    name: 'nats',
    launch: (member: Member, all: readonly Member[]) => launch(member, all, settings),
    ready: /Server is ready/,
  };
  const cluster = await startCluster(program, nodes);
  try {
    // Until the nodes have chosen one that leads, they refuse every stream.
    if (nodes > 1)
      await until('JetStream to have a leader', () =>
        cluster.addresses.some((_, node) => /JetStream cluster.* metadata leader/.test(cluster.output(node)))
          ? true
          : undefined,
      );
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
  return { ...cluster, servers: cluster.addresses.map((address) => `${address}:${CLIENT_PORT}`) };
}
