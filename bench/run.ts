import { parseArgs } from 'node:util';
import { repoRoot } from '../test/support/servers/paths.ts';
import { runToEnd, tempDir } from '../test/support/servers/process.ts';
import { catchUp } from './catch-up.ts';
import { firstAnswers, firstCalls } from './cold-start.ts';
import { fastBlocks } from './fast-blocks/run.ts';
import { feed } from './feed/run.ts';
import { fleet } from './fleet/run.ts';
import { growth } from './growth/run.ts';
import { BusyChain } from './live-chain.ts';
import { preconfirmed } from './preconfirmed/run.ts';
import { type Section, writeSection } from './report.ts';
import { serving } from './serving.ts';
import { stores } from './stores/run.ts';
import { websocket } from './websocket.ts';

const { values } = parseArgs({
  options: {
    /** One second a figure, one round, a short chain: shows that it works, not how fast. */
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    /** Only `serving`, `endpoint` and `following` run unasked: `execution` is built with cargo, the others take a chain of their own. */
    part: { type: 'string', multiple: true, default: ['serving', 'endpoint', 'following'] },
    threads: { type: 'string', default: '2' },
    /** Leave ours out, to measure the peers alone. */
    peers: { type: 'boolean', default: false },
    /** A chain of a million blocks, too, in the growth part: some ten minutes more. */
    million: { type: 'boolean', default: false },
    /** One workload of the serving or endpoint part. */
    only: { type: 'string' },
  },
});
const shape = values.quick
  ? { blocks: 20, seconds: 1, rounds: 1, behind: 12, isWarmedUp: false }
  : { blocks: 300, seconds: 3, rounds: 3, behind: 60, isWarmedUp: true };

async function following(): Promise<Section> {
  await using chain = await BusyChain.start();
  await using data = await tempDir('catch-up');
  console.log(`catching up with ${shape.behind} blocks, twice`);
  const caughtUp = await catchUp(chain, data.path, shape.behind);
  console.log(`${caughtUp}\nstarting`);
  const calls = await firstCalls(chain);
  const answers = await firstAnswers(chain, data.path, shape.rounds);
  return {
    name: 'following',
    facts: [
      'Chain: OP-stack blocks of 4 calls that write 100 slots and log each, and 8 token transfers.',
      'Upstream: op-geth on the same machine, over WebSocket, without traces; it keeps 128 states. What is missing is asked for in batches.',
      'Catching up is timed from when the node answers. *Executing* is the time of blocks at hand, with loading what they lack.',
      `Starts: from the process to the answer to eth_blockNumber, ours compiled as it is installed, the median of ${shape.rounds}.`,
    ],
    tables: [caughtUp, answers, calls],
  };
}

/** The same blocks by our executor and by bare revm. */
async function execution(): Promise<Section> {
  const args = ['bench', '--manifest-path', 'native/Cargo.toml', '--locked', '-p', 'chain-query-evm'];
  const rounds = values.quick ? '1' : '9';
  const output = await runToEnd('cargo', [...args, '--bench', 'execution', '--', rounds], { cwd: repoRoot });
  const rows = output.split('\n').filter((line) => line.startsWith('|'));
  return {
    name: 'execution',
    facts: [
      'Ours: `Chain::execute`, from the bytes of a block to a new head: decoding, senders, roots, bloom, receipts, state diff, hot state. All state is in memory.',
      'Bare revm: `transact_commit` of the same transactions with known senders on a `CacheDB` with the same state; nothing is decoded, checked or kept.',
      `CPU time of one thread, ${rounds} interleaved rounds, medians. *Senders* is what recovering them takes of ours; every transaction of the made-up blocks has another one.`,
    ],
    tables: [rows.join('\n')],
  };
}

const load = { ...shape, threads: values.threads, peers: values.peers, only: values.only };
const parts: Readonly<Record<string, () => Promise<Section>>> = {
  serving: () => serving('serving', load),
  endpoint: () => serving('endpoint', load),
  following,
  execution,
  preconfirmed: () => preconfirmed(values),
  websocket: () => websocket(values),
  'fast-blocks': () => fastBlocks(values),
  stores: () => stores(values),
  feed: () => feed(values),
  fleet: () => fleet(values),
  growth: () => growth(values),
};
let measured = 0;
let failed = 0;
for (const name of values.part) {
  const part = parts[name];
  if (part === undefined) throw new Error(`no part ${name}; there are ${Object.keys(parts).join(', ')}`);
  const section = await part();
  for (const table of section.tables) {
    console.log(`\n${table}`);
    measured += table.split('\n').length - 2;
  }
  for (const failure of section.failures ?? []) {
    failed += 1;
    console.log(`FAIL ${failure}`);
  }
  if (values.write) await writeSection(section);
}
// A figure is wrong only where it is grossly so: what counts is that every server answered, alike and under load.
console.log(`${measured} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
