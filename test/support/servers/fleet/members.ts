import { boundAddresses, startCli } from '../node.ts';
import { type FollowingNode, whereItListens } from '../our-node.ts';
import type { Cassandra } from './cassandra.ts';
import type { Nats } from './nats.ts';

/** Where a fleet keeps its chain, and where it tells of it. */
export interface FleetServers {
  readonly cassandra: Pick<Cassandra, 'contactPoints' | 'localDataCenter'>;
  readonly nats: Pick<Nats, 'servers'>;
}

/** What an ingester says once it runs: it writes, or has begun to wait. */
export const INGESTER_RUNS = /this ingester writes|waiting for the right to write/;

/** The options by which ingesters and replicas find them; every server holds everything. */
export function fleetOptions({ cassandra, nats }: FleetServers): readonly string[] {
  const { contactPoints, localDataCenter } = cassandra;
  const place = `dc=${localDataCenter}&replicas=${contactPoints.length}`;
  return [
    ...['--store', `cql://${contactPoints.join(',')}/fleet?${place}`],
    ...['--feed', nats.servers.map((server) => `nats://${server}`).join(',')],
    // Less than the memory that these servers may use for streams.
    ...['--feed-replicas', String(nats.servers.length), '--feed-bytes', '64MiB'],
  ];
}

/** Starts an ingester or a replica on ports of its own, and waits until it listens. */
export async function startMember(args: readonly string[], portFile: string): Promise<FollowingNode> {
  const running = startCli([
    ...args,
    ...['--public', 'off', '--dedicated', '127.0.0.1:0', '--admin', '127.0.0.1:0'],
    ...['--listen-port-file', portFile],
  ]);
  try {
    return whereItListens(running, await boundAddresses(running, portFile));
  } catch (error) {
    await running.stop();
    throw error;
  }
}
