import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { WorkloadChain } from '../support/servers/chains.ts';
import { startCassandra } from '../support/servers/fleet/cassandra.ts';
import { fleetOptions, startMember } from '../support/servers/fleet/members.ts';
import { startNats } from '../support/servers/fleet/nats.ts';
import { readiness } from '../support/servers/our-node.ts';
import { repoRoot } from '../support/servers/paths.ts';
import { tempDir, until } from '../support/servers/process.ts';
import { type Replica, startOurs } from './ours.ts';

const replicaCount = 2;

/** Whatever docs/observability.md says that a fleet measures, one of its processes must. */
async function expectMetrics(texts: readonly string[]): Promise<void> {
  const page = await readFile(join(repoRoot, 'docs/observability.md'), 'utf8');
  const [section = ''] = page.split('## In a fleet')[1]?.split('\n## ') ?? [];
  const named = Array.from(section.matchAll(/^\| `(chain_query_\w+)` \|/gm), ([, name = '']) => name);
  const missing = named.filter((name) => !texts.some((text) => text.includes(`# TYPE ${name} `)));
  if (named.length === 0 || missing.length > 0) throw new Error(`not measured: ${missing.join(', ')}`);
}

/** Replicas of a store in CQL, each request to one of them at random; an ingester follows the chain into it. */
export async function startFleet(chain: WorkloadChain, options: readonly string[]): Promise<Replica> {
  await using starting = new AsyncDisposableStack();
  const cassandra = starting.use(await startCassandra({ nodes: 1 }));
  const nats = starting.use(await startNats({ nodes: 1 }));
  const dir = starting.use(await tempDir('ingest'));
  const args = [
    ...['--chain', chain.rulesFile, '--upstream', chain.ws],
    ...fleetOptions({ cassandra, nats }),
  ];
  const ingester = starting.use(
    await startMember(
      ['ingest', ...args, ...(chain.serveOptions ?? []), ...options],
      join(dir.path, 'ports.json'),
    ),
  );
  const replicas = await Promise.all(
    Array.from({ length: replicaCount }, () => startOurs(() => ['serve', ...args])),
  );
  for (const replica of replicas) starting.use(replica);
  const [first] = replicas;
  if (first === undefined) throw new Error('no replica was started');
  let stopping = false;
  const { running } = ingester;
  const ended = running.exited.then((code) => {
    if (stopping) return new Promise<never>(() => {});
    throw new Error(`the ingester ended with ${code}:\n${running.output()}`);
  });
  ended.catch(() => {});
  // Longer than a thread may be silent: an ingester has none.
  await until('the ingester to be ready for a while', async () => {
    await pause(3_500);
    return (await readiness(ingester)).ready || undefined;
  });
  await expectMetrics([await (await fetch(`${ingester.adminUrl}/metrics`)).text(), await first.metrics()]);
  const resources = starting.move();
  return {
    ...first,
    get url() {
      return replicas[Math.floor(Math.random() * replicas.length)]?.url ?? first.url;
    },
    // That of the last one: all of them have to come along.
    async head() {
      const heads = await Promise.all(replicas.map((replica) => replica.head()));
      return heads.reduce((lowest, head) => (head.number < lowest.number ? head : lowest));
    },
    output: () => [running.output(), ...replicas.map((replica) => replica.output())].join('\n--\n'),
    died: Promise.race([ended, ...replicas.map(({ died }) => died)]),
    async [Symbol.asyncDispose]() {
      stopping = true;
      await resources.disposeAsync();
    },
  };
}
