import { loadavg } from 'node:os';
import type { Client } from 'cassandra-driver';
import { startCassandra } from '../../test/support/servers/fleet/cassandra.ts';
import { markdown, type Section } from '../report.ts';
import { figure, note, summarise } from '../stores/timing.ts';
import { PLANTS } from './history.ts';
import { type Loaded, load } from './load.ts';
import { describePartitions, flush } from './partitions.ts';
import { canAsk, QUESTIONS, type Question } from './questions.ts';
import { type Asked, openBare, record, replay } from './statements.ts';

const MILLION = 1_000_000;
/** How much our reads may cost beside the bare driver's. */
const MOST_COST = 1.5;

/** What reading through the store of a fleet costs beside the bare driver, and as the chain gets longer. */
export async function growth({
  quick,
  million,
}: {
  readonly quick: boolean;
  readonly million: boolean;
}): Promise<Section> {
  const sizes = quick ? [4_000, 8_000] : [10_000, 100_000];
  const repeats = quick ? 20 : 200;
  await using stack = new AsyncDisposableStack();
  note('starting Cassandra');
  const cassandra = stack.use(
    await startCassandra({ nodes: 1, heapMiB: 1_024, optimised: true, timeoutMs: 20_000 }),
  );
  const chains: Loaded[] = [];
  for (const blocks of [...sizes, ...(million ? [MILLION] : [])]) {
    const chain = await load(cassandra, blocks, blocks === MILLION ? 'index' : 'whole');
    stack.defer(() => chain.session.close());
    note(`${blocks} blocks took ${figure(chain.secondsToLoad)} s`);
    chains.push(chain);
  }
  const compared = chains[sizes.length - 1] as Loaded;
  const bare = await openBare(cassandra, compared.keyspace);
  stack.defer(() => bare.shutdown());
  for (const { keyspace } of chains) await flush(bare, keyspace);
  const partitions = await describePartitions(bare, chains);
  note(partitions);
  const costs = await measureCosts(bare, compared, repeats);
  const growing = await measureGrowth(chains, repeats);
  return {
    name: 'growth',
    facts: [
      'One node of Cassandra 5.0.6 with 1 GiB. Blocks of 2 transactions, 3 logs and 6 state writes, made up, loaded in bulk.',
      `Medians of ${repeats} repeats, in turns; other blocks, slots and hashes each time, and ${PLANTS} topics in turn.`,
      `*Cost*: ours in ${costs.blocks.toLocaleString('en-US')} blocks beside the bare driver with its own defaults, which is given the same prepared statements with the same values, as many at a time, and throws away what comes. It has nothing to find out: what was asked was recorded before.`,
      '*Growth*: partitions read / rows read / rounds of reads, of one of the repeats / ms.',
      `Load average at the end: ${figure(loadavg()[0] ?? 0)}.`,
    ],
    tables: [costs.table, growing, partitions],
    failures: costs.failures,
  };
}

async function measureCosts(
  bare: Client,
  chain: Loaded,
  repeats: number,
): Promise<{ readonly blocks: number; readonly table: string; readonly failures: readonly string[] }> {
  const failures: string[] = [];
  const lines: string[][] = [];
  for (const question of QUESTIONS.filter(({ isCompared }) => isCompared)) {
    const { asked, ours, driver } = await compare(chain, bare, question, repeats);
    const [own, other] = [summarise(ours.times).p50, summarise(driver.times).p50];
    if (own / other > 2 * MOST_COST) failures.push(`${question.title}: ${figure(own / other)} × the driver`);
    lines.push([
      question.title,
      asked.reads.toString(),
      String(asked.rounds.length),
      figure(own),
      figure(other),
      (own / other).toFixed(2),
      (ours.cpu / repeats).toFixed(2),
      (driver.cpu / repeats).toFixed(2),
    ]);
    note(lines.at(-1)?.join(' | ') ?? '');
  }
  const head = ['cost', 'reads', 'rounds', 'ours, ms', 'driver, ms', '÷', 'our CPU, ms', "driver's CPU, ms"];
  return { blocks: chain.blocks, table: markdown(head, lines), failures };
}

/** Times of one side, and the CPU time of this process in all of them. */
interface Taken {
  readonly times: number[];
  cpu: number;
}

/** Both sides in turns, the first one first every other time; what each turn asks was recorded before, and so is in memory. */
async function compare(
  chain: Loaded,
  bare: Client,
  { ask }: Question,
  repeats: number,
): Promise<{ readonly asked: Asked; readonly ours: Taken; readonly driver: Taken }> {
  const recorded: Asked[] = [];
  for (let turn = 0; turn < repeats; turn++)
    recorded.push(await record(chain.session, () => ask(chain, turn)));
  const ours: Taken = { times: [], cpu: 0 };
  const driver: Taken = { times: [], cpu: 0 };
  for (let turn = -Math.ceil(repeats / 4); turn < repeats; turn++) {
    const at = (turn + repeats) % repeats;
    const sides = [
      { taken: ours, run: () => ask(chain, at) },
      { taken: driver, run: () => replay(bare, recorded[at] as Asked) },
    ];
    for (const { taken, run } of turn % 2 === 0 ? sides : sides.toReversed()) {
      const before = process.cpuUsage();
      const started = performance.now();
      await run();
      const ended = performance.now() - started;
      const { user, system } = process.cpuUsage(before);
      if (turn < 0) continue;
      taken.times.push(ended);
      taken.cpu += (user + system) / 1_000;
    }
  }
  return { asked: recorded[0] as Asked, ours, driver };
}

async function measureGrowth(chains: readonly Loaded[], repeats: number): Promise<string> {
  const lines: string[][] = [];
  for (const question of QUESTIONS) {
    const times = chains.map((): number[] => []);
    const asked: Asked[] = [];
    for (const [at, chain] of chains.entries()) {
      if (canAsk(chain, question)) asked[at] = await record(chain.session, () => question.ask(chain, 1));
    }
    for (let turn = -Math.ceil(repeats / 4); turn < repeats; turn++) {
      for (const [at, chain] of chains.entries()) {
        if (asked[at] === undefined) continue;
        const started = performance.now();
        await question.ask(chain, turn + repeats);
        if (turn >= 0) times[at]?.push(performance.now() - started);
      }
    }
    const cells = times.map((some, at) => {
      const of = asked[at];
      return of === undefined
        ? ''
        : `${of.partitions} / ${of.rows} / ${of.rounds.length} / ${figure(summarise(some).p50)}`;
    });
    lines.push([question.title, ...cells]);
    note([question.title, ...cells].join(' | '));
  }
  return markdown(
    ['growth', ...chains.map(({ blocks }) => `${blocks.toLocaleString('en-US')} blocks`)],
    lines,
  );
}
