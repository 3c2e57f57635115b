// Two ingesters and three replicas on three Cassandra and three NATS nodes, under load and faults. Clients read from replicas at random and
// hold what they read against the chain. The last line is `N passed, N failed`. `--full` does every fault ten times.
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect, parseArgs } from 'node:util';
import { ChainView } from '../../replica/chain-view.ts';
import { headIn } from '../../replica/ours.ts';
import { Random } from '../../support/random.ts';
import { until } from '../../support/servers/process.ts';
import { sendBatchNoting } from '../../support/servers/rpc-client.ts';
import { Workload } from '../../support/workload/workload.ts';
import { FAULTS, type Fault } from './faults.ts';
import { type History, newHistory, read } from './readers.ts';
import { World } from './world.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    full: { type: 'boolean', default: false },
    /** How often each fault is done. */
    times: { type: 'string' },
    /** Only faults whose names have this in them. */
    only: { type: 'string', default: '' },
    clients: { type: 'string', default: '4' },
  },
});
const seed = Number(values.seed ?? process.env['TEST_SEED'] ?? randomInt(2 ** 31));
const times = Number(values.times ?? (values.full ? 10 : 1));
const INGESTERS = 2;
const BLOCK_MS = 400;
const REORG_EVERY = 40;
/** Before the first fault: programs that have just been started are slow. */
const WARM_BLOCKS = 20;
/** A replica that is so close to the chain's head follows it. */
const CLOSE = 3;
/** What is not mended after so long is a failure. */
const GIVE_UP_MS = 60_000;
/** With three Cassandra nodes and all else on two cores, a fleet may take so many times as long as is aimed at. */
const SLACK = 6;

interface Seen {
  readonly fault: Fault;
  readonly freshMs: number;
  readonly failed: readonly string[];
}

/** Whether all of them are close to the head. */
async function areClose(world: World, view: ChainView): Promise<boolean> {
  const heads = await Promise.all(world.replicas.map(({ url }) => headOf(url)));
  return heads.every((number) => view.head - number <= CLOSE);
}

async function headOf(url: string | undefined): Promise<number> {
  const { headers } = await sendBatchNoting(url ?? '', [{ method: 'eth_blockNumber', params: [] }]);
  return headIn(headers)?.number ?? -1;
}

/** For how long the chain has a block that was made after the fault, and some replica that runs does not. */
async function staleFor(world: World, view: ChainView): Promise<number> {
  const head = view.head;
  await until('the next block', () => view.head > head || undefined, GIVE_UP_MS);
  const made = performance.now();
  await until(
    'fresh data',
    async () => {
      const heads = await Promise.all(world.replicas.map(({ url }) => headOf(url).catch(() => -1)));
      return heads.length > 0 && heads.every((number) => number > head) ? true : undefined;
    },
    GIVE_UP_MS,
  );
  return performance.now() - made;
}

async function produce(
  world: World,
  workload: Workload,
  view: ChainView,
  signal: AbortSignal,
): Promise<void> {
  const { chain } = world;
  for (let made = 1; !signal.aborted; made++) {
    const began = performance.now();
    if (made % REORG_EVERY === 0 && chain.reorg !== undefined)
      await view.during(() => chain.reorg?.(1 + (made % 3), () => workload.next()) ?? Promise.resolve());
    else {
      const block = await workload.next();
      await view.during(() => chain.mine(block));
    }
    await pause(Math.max(0, BLOCK_MS - (performance.now() - began)));
  }
}

async function doFault(
  fault: Fault,
  { world, view, history, random }: { world: World; view: ChainView; history: History; random: Random },
): Promise<Seen> {
  // As a supervisor would: one that lost its right, if only because the machine was slow, has ended.
  while (world.ingesters.length < INGESTERS) await world.ingest();
  const failedBefore = history.failed.length;
  const mend = await fault.begin(world, random);
  const freshMs = await staleFor(world, view);
  await mend();
  await until(
    'replicas to follow again',
    async () => ((await areClose(world, view)) ? true : undefined),
    GIVE_UP_MS,
  );
  const seen = { fault, freshMs, failed: history.failed.slice(failedBefore) };
  console.log(`${fault.name}: fresh after ${freshMs.toFixed(0)} ms, ${seen.failed.length} failed reads`);
  return seen;
}

console.log(`seed ${seed}`);
// Each process that is started wants to hear of the end of this one.
process.setMaxListeners(200);
const started = performance.now();
await using world = await World.start();
const workload = new Workload(seed, world.chain.traits, world.chain.readNonces);
const view = new ChainView(world.chain.url, workload.catalogue);
await view.during(() => Promise.resolve());
await world.ingest();
await until('a first ingester to write', () => world.leader);
await world.ingest();
for (let count = 0; count < 3; count++) await world.serve();
await view.during(async () => {
  for await (const block of workload.setup()) await world.chain.mine(block);
});
console.log(`the fleet runs after ${((performance.now() - started) / 1000).toFixed(0)} s`);

const stop = new AbortController();
const history = newHistory();
const modules = {
  ...{ view, history, truthUrl: world.chain.url },
  urls: () => world.replicas.flatMap(({ url }) => url ?? []),
  question: (random: Random, block: unknown) => {
    const { filled, addresses } = workload.catalogue;
    const { address, slot } = random.pick(filled);
    return random.chance(0.5)
      ? { method: 'eth_getStorageAt', params: [address, slot, block] }
      : { method: 'eth_getTransactionCount', params: [random.pick(addresses), block] };
  },
};
const failures: string[] = [];
const watched = (what: string, work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    failures.push(`${what}: ${inspect(error)}`);
  });
const background = [
  watched('producing', produce(world, workload, view, stop.signal)),
  ...Array.from({ length: Number(values.clients) }, (_, at) =>
    watched('a client', read(new Random(seed, 1_000 + at), modules, stop.signal)),
  ),
];
const warm = view.head + WARM_BLOCKS;
await until('replicas to follow', async () =>
  view.head >= warm && (await areClose(world, view)) ? true : undefined,
);
const random = new Random(seed, 0);
const chosen = FAULTS.filter(({ name }) => name.includes(values.only));
const seen: Seen[] = [];
for (let round = 0; round < times && failures.length === 0; round++) {
  for (const fault of random.shuffle(chosen)) {
    try {
      seen.push(await doFault(fault, { world, view, history, random }));
    } catch (error) {
      failures.push(`${fault.name}: ${inspect(error)}`);
      for (const { running } of [...world.ingesters, ...world.replicas])
        console.log(`-- ${running.output().slice(-1_500)}`);
      for (const words of world.lastWords) console.log(`-- ${words}`);
      break;
    }
  }
}
stop.abort();
await Promise.all(background);

const late = seen.filter(({ fault, freshMs }) => freshMs > SLACK * fault.aimMs);
const unread = seen.filter(({ fault, failed }) => fault.aimMs === 2_000 && failed.length > 0);
console.log('\n| fault | times | fresh after, median ms | most | aim | failed reads |');
console.log('| --- | ---: | ---: | ---: | ---: | ---: |');
for (const fault of chosen) {
  const own = seen.filter((each) => each.fault === fault);
  const fresh = own.map(({ freshMs }) => freshMs).toSorted((a, b) => a - b);
  const [median, most] = [fresh[Math.floor(fresh.length / 2)], fresh.at(-1)];
  const failed = own.reduce((sum, each) => sum + each.failed.length, 0);
  console.log(
    `| ${fault.name} | ${own.length} | ${median?.toFixed(0)} | ${most?.toFixed(0)} | ${fault.aimMs} | ${failed} |`,
  );
}
for (const { fault, freshMs } of late)
  failures.push(`${fault.name}: no fresh data for ${freshMs.toFixed(0)} ms`);
for (const { fault, failed } of unread)
  failures.push(`${fault.name}: ${failed.length} failed reads: ${failed[0]}`);
failures.push(...history.wrong.slice(0, 20));
for (const what of failures) console.log(`  FAILED ${what}`);
console.log(
  `\nseed ${seed}: ${view.head} blocks, ${history.reads} reads, ${history.compared} compared, ${history.moved} answered by another replica, ` +
    `${history.failed.length} failed, ${history.wrong.length} wrong, ${((performance.now() - started) / 1000).toFixed(0)} s`,
);
const passed = history.reads - history.wrong.length + seen.length;
console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;
