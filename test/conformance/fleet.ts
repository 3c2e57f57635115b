import { join } from 'node:path';
import { startCassandra } from '../support/servers/fleet/cassandra.ts';
import { fleetOptions, startMember } from '../support/servers/fleet/members.ts';
import { startNats } from '../support/servers/fleet/nats.ts';
import type { Geth } from '../support/servers/geth.ts';
import { importArguments, runCli, startCli } from '../support/servers/node.ts';
import { officialChain } from '../support/servers/paths.ts';
import { tempDir } from '../support/servers/process.ts';

const REPLICAS = 3;

/**
 * The official chain in a fleet: imported into a store of one's own, moved into Cassandra by a snapshot, kept by two ingesters, of which
 * one waits, and served by replicas.
 */
export async function startOfficialFleet(
  geth: Geth,
  options: readonly string[],
): Promise<AsyncDisposable & { readonly urls: readonly string[] }> {
  await using starting = new AsyncDisposableStack();
  const [cassandra, nats, dir] = await Promise.all([
    startCassandra({ nodes: 3 }),
    startNats({ nodes: 3 }),
    tempDir('fleet'),
  ]);
  for (const resource of [cassandra, nats, dir]) starting.use(resource);
  const [data, snapshot] = [join(dir.path, 'data'), join(dir.path, 'snapshot')];
  const fleet = fleetOptions({ cassandra, nats });
  await runCli(importArguments(data));
  await runCli(['snapshot', 'export', '--data', data, '--snapshot', snapshot]);
  await runCli(['snapshot', 'restore', ...fleet.slice(0, 2), '--snapshot', snapshot]);
  const common = [...fleet, '--chain', officialChain.genesis, '--upstream', geth.url];
  const start = async (command: string, name: string, more: readonly string[]) =>
    starting.use(await startMember([command, ...common, ...more], join(dir.path, `${name}.json`)));
  await start('ingest', 'writes', []);
  const waiting = startCli(['ingest', ...common, '--admin', '127.0.0.1:0']);
  starting.defer(() => waiting.stop());
  const replicas = await Promise.all(
    Array.from({ length: REPLICAS }, (_, at) => start('serve', `replica-${at}`, options)),
  );
  const resources = starting.move();
  return {
    urls: replicas.map(({ url }) => url),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
