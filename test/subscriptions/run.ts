// Clients of WebSocket subscriptions, over blocks with faults and reorgs: what they hold is at every quiet
// point what eth_getLogs gives, and in the end what op-geth has. The last line is `N passed, N failed`.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Metrics } from '../preconfirmed/scenarios/effects.ts';
import { Checks } from '../support/checks.ts';
import { Random } from '../support/random.ts';
import { Audience } from './audience.ts';
import { Burden } from './burden.ts';
import { exactness } from './exact.ts';
import { PackageAudience } from './package-audience.ts';
import { memoryOf, Show } from './show.ts';

const { values } = parseArgs({
  options: {
    blocks: { type: 'string', default: '300' },
    seed: { type: 'string' },
    client: { type: 'string', default: 'test' },
  },
});
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const wanted = Number(values.blocks);
const isPackage = values.client === 'package';
/** Notifications that may wait for a client. */
const queueBytes = 4 * 1024 * 1024;
/** What our node may grow by, with its caches and the blocks that it can take off again. */
const growthBytes = 800 * 1024 * 1024;
const runsPerPause = 6;
const runsPerRestart = 24;
/** Fewer may miss some of the faults. */
const enoughBlocks = 200;
const outputShown = 3_000;
const cutShare = 0.15;

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;

/** Shows one run after another to an audience that is disturbed meanwhile, and has something done after each. */
async function playRuns(
  show: Show,
  audience: Pick<Audience | PackageAudience, 'disturb'>,
  after: (run: number) => Promise<void>,
): Promise<void> {
  const random = new Random(seed ^ 0x165667b1, 0);
  let next = show.prepare(0);
  for (let run = 0; show.blocks < wanted; run += 1) {
    const scene = await next;
    // While this one is shown.
    next = show.prepare(run + 1);
    // Told when its turn comes.
    next.catch(() => {});
    await show.play(run, scene, () => audience.disturb(random, cutShare));
    await after(run);
  }
  await next;
}

async function play(show: Show, audience: Audience, checks: Checks): Promise<void> {
  const before = memoryOf(show.node);
  let most = before;
  await playRuns(show, audience, async (run) => {
    most = Math.max(most, memoryOf(show.node));
    await audience.tend();
    if ((run + 1) % runsPerPause === 0) {
      await audience.settle(`--seed ${seed}, after run ${run}`);
      console.log(`  ${show.blocks} blocks, ${megabytes(memoryOf(show.node))}; ${audience.figures()}`);
    }
  });
  await audience.settle(`--seed ${seed}, at the end`);
  await audience.compareWithUpstream();
  console.log(`  memory of our node: ${megabytes(before)} before, ${megabytes(most)} at most`);
  checks.check('memory is bounded', most - before < growthBytes, megabytes(most - before));
}

/** With `packages/client` in place of our own clients, and restarts of our node. */
async function playPackage(show: Show, checks: Checks): Promise<void> {
  await using audience = await PackageAudience.start(show, seed, checks);
  await playRuns(show, audience, async (run) => {
    if ((run + 1) % runsPerPause !== 0) return;
    if ((run + 1) % runsPerRestart === 0 || run + 1 === runsPerPause) await audience.restart();
    await audience.settle(`--seed ${seed} --client package, after run ${run}`);
    console.log(`  ${show.blocks} blocks; ${audience.figures()}`);
  });
  await audience.settle(`--seed ${seed} --client package, at the end`);
  await audience.compareWithUpstream();
  audience.conclude(wanted);
  console.log(`  ${audience.figures()}`);
}

async function playAll(show: Show, checks: Checks): Promise<void> {
  await exactness(show, checks);
  await using audience = await Audience.start(show, seed, checks);
  await using burden = new Burden(show.node.url);
  await play(show, audience, checks);
  audience.conclude(wanted);
  console.log(`  ${audience.figures()}`);
  console.log(`  ${audience.readFigures()}; ${burden.batches} batches kept a thread busy beside them`);
}

async function main(checks: Checks): Promise<void> {
  await using show = await Show.start(seed, queueBytes);
  const began = performance.now();
  try {
    await show.warmUp();
    if (isPackage) await playPackage(show, checks);
    else await playAll(show, checks);
    checks.check('our node shows what it should', show.problems.length === 0, show.problems.slice(0, 3));
  } catch (error) {
    const said = show.node.running.output().slice(-outputShown);
    checks.check(`--seed ${seed} runs to its end`, false, `${(error as Error).stack}\n${said}`);
  }
  await report(show, checks);
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.log(`seed ${seed}: ${show.blocks} blocks in ${show.flashblocks} flashblocks, ${seconds} s`);
}

/** What our node itself says of the run. */
async function report(show: Show, checks: Checks): Promise<void> {
  const metrics = await Metrics.of(show.node).catch(() => undefined);
  checks.check('our node is there to the end', metrics !== undefined);
  if (metrics === undefined) return;
  const counts = (name: string, label: string): string =>
    [...metrics.by(name, label)].map(([value, sum]) => `${value} ${sum}`).join(', ');
  console.log(`  faults: ${[...show.happened].map(([kind, times]) => `${kind} ${times}`).join(', ')}`);
  console.log(`  flashblock decisions: ${counts('flashblock_decisions_total', 'decision')}`);
  console.log(`  pre-confirmed blocks dropped: ${counts('preconfirmed_dropped_total', 'reason')}`);
  console.log(
    `  reorgs ${metrics.sum('reorganisations_total')}; notifications ${metrics.sum('notifications_total')}; ` +
      `connections closed: ${counts('websocket_closed_total', 'reason')}`,
  );
  const errors = show.node.running
    .output()
    .split('\n')
    .filter((line) => line.includes('"level":"error"') && !line.includes('"kind":"contradiction"'));
  const happened = [
    ...['gap', 'refused', 'silence', 'sealedOtherwise'].map((reason) =>
      metrics.sum('preconfirmed_dropped_total', `reason="${reason}"`),
    ),
    ...['rebuild', 'early', 'duplicate'].map((decision) =>
      metrics.sum('flashblock_decisions_total', `decision="${decision}"`),
    ),
    metrics.sum('reorganisations_total'),
  ];
  checks.check(
    'all kinds of faults had their effect',
    // What a node counted before it was killed is not known.
    wanted < enoughBlocks || isPackage || happened.every((count) => count > 0),
    happened,
  );
  // Streams that contradict each other are one of the faults.
  checks.check('our node writes of no error', errors.length === 0, errors.slice(0, 3));
}

console.log(`seed ${seed}`);
const checks = new Checks();
await main(checks);
console.log(`${checks.passed} passed, ${checks.failed} failed`);
process.exitCode = checks.failed === 0 ? 0 : 1;
