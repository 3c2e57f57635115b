// Two of our nodes in a row, with flashblocks: the second, which has everything from the first, against op-geth after
// every flashblock; then the first is killed, and the second goes on without it. The last line is `N passed, N failed`.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { askOurs, Comparison } from '../preconfirmed/comparison.ts';
import { planBlock } from '../preconfirmed/plan.ts';
import { racingQuestions } from '../preconfirmed/questions.ts';
import { type Moment, PreconfirmedRig } from '../preconfirmed/rig.ts';
import { compareAll, Progress } from '../preconfirmed/walk.ts';
import { showDifferences } from '../replica/report.ts';
import { Checks } from '../support/checks.ts';
import { type Form, formsNamed } from '../support/flashblocks/forms.ts';
import { Random } from '../support/random.ts';
import { total, untilHead } from '../support/servers/our-node.ts';
import { until } from '../support/servers/process.ts';
import { Fleet } from './fleet.ts';
import { LogKeeper } from './log-keeper.ts';
import { measurePace } from './pace.ts';

const { values } = parseArgs({
  options: {
    /** Of each form: half of them before the first node is killed, half after. */
    flashblocks: { type: 'string', default: '400' },
    /** Blocks at the pace of a builder. */
    paced: { type: 'string', default: '15' },
    seed: { type: 'string' },
    form: { type: 'string', default: 'all' },
  },
});
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const outputShown = 3_000;
const shown = 8;
/** Flashblocks of its block that there are when the first node is killed, and batches asked after each of the rest. */
const killedAfter = 2;
const racesEach = 3;

/** A block in whose middle the first node is killed: what the second still shows must have been so. */
async function killInside(rig: PreconfirmedRig, fleet: Fleet, comparison: Comparison): Promise<number> {
  const { workload } = rig;
  const oldest = rig.sequencer.head.number;
  const { second } = fleet;
  let ms = Number.NaN;
  let step = 0;
  const race = async (what: string, moment: Moment): Promise<void> => {
    comparison.remember(moment);
    for (let left = racesEach; left > 0; left -= 1) {
      step += 1;
      const random = (): Random => new Random(seed ^ 0x3c6ef372, step);
      await comparison.racing(what, moment, (seen) => racingQuestions(seen, random(), workload, oldest));
    }
  };
  rig.events = {
    published: async ({ message: { index } }, moment) => {
      if (index === killedAfter) await fleet.killFirst();
      await race(`--seed ${seed}, the first node is killed, index ${index}`, moment);
    },
    sealed: async ({ number, hash }, moment) => {
      const sealed = performance.now();
      await untilHead(second, hash);
      ms = performance.now() - sealed;
      await race(`--seed ${seed}, block ${number} sealed without the first`, moment);
    },
  };
  await untilHead(second, rig.sequencer.head.hash);
  comparison.remember(rig.moment);
  const { plan } = await planBlock(seed ^ 0x1b873593, 0, workload);
  await rig.block({ ...plan, parts: plan.parts.length > killedAfter ? plan.parts : [[], [], []] });
  await rig.seal();
  // The first one's connections are gone: these are the second's.
  await until('the second node to listen to the streams itself', () =>
    rig.servers.every(({ connected }) => connected > 0) ? true : undefined,
  );
  return ms;
}

const quantile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1);

async function play(
  rig: PreconfirmedRig,
  fleet: Fleet,
  comparison: Comparison,
  checks: Checks,
): Promise<void> {
  const { second } = fleet;
  const wanted = Number(values.flashblocks);
  await untilHead(second, rig.sequencer.head.hash);
  const from = rig.sequencer.head.number + 1;
  using pendingLogs = await LogKeeper.start(second.url, 'pendingLogs');
  using logs = await LogKeeper.start(second.url, 'logs');
  const progress = new Progress();
  await compareAll(rig, comparison, progress, { seed, wanted: wanted / 2, racers: 1 });
  const { laterMs, reads, backwards } = await measurePace(rig, fleet, { seed, blocks: Number(values.paced) });
  console.log(
    `  ${laterMs.length} pre-confirmed logs came later from the second node by ${quantile(laterMs, 0.5)} ms (p50), ` +
      `${quantile(laterMs, 0.99)} ms (p99); ${reads} reads from both in turn`,
  );
  checks.check('logs are pre-confirmed on both', laterMs.length > 0);
  checks.check(
    'who reads from both in turn never reads backwards',
    backwards.length === 0,
    backwards.slice(0, shown),
  );
  checks.check('all came through the first node', fleet.passed === 0, fleet.passed);
  await fleet.openWay();
  const ms = await killInside(rig, fleet, comparison);
  console.log(
    `  ${ms.toFixed(0)} ms until the second had the block that was being built, sealed after the kill`,
  );
  await compareAll(rig, comparison, progress, { seed, wanted, racers: 1 });
  const head = rig.sequencer.head.number;
  for (const [name, keeper] of Object.entries({ pendingLogs, logs })) {
    await keeper.settle(rig.oracle.url, from, head);
    checks.check(
      `${name}: each log once, through it all`,
      keeper.problems.length === 0,
      keeper.problems.slice(0, shown),
    );
  }
  const lies = await total(second, 'chain_query_upstream_lies_total');
  checks.check('nobody is taken for a liar', lies === 0, lies);
  console.log(`  ${progress.summary()}; ${pendingLogs.messages} pendingLogs, ${logs.messages} logs`);
}

async function run(form: Form, checks: Checks): Promise<Comparison['totals']> {
  await using rig = await PreconfirmedRig.start({ seed, form, withoutOurs: true });
  await using fleet = await Fleet.start(rig);
  const comparison = new Comparison(rig.oracle.url, askOurs(fleet.second));
  try {
    await play(rig, fleet, comparison, checks);
  } catch (error) {
    const said = fleet.second.running.output().slice(-outputShown);
    checks.check(
      `--seed ${seed} --form ${form} runs to its end`,
      false,
      `${(error as Error).stack}\n${said}`,
    );
  }
  return comparison.totals;
}

console.log(`seed ${seed}`);
const checks = new Checks();
for (const form of formsNamed(values.form)) {
  const began = performance.now();
  console.log(`${form}:`);
  const totals = await run(form, checks);
  showDifferences(totals.differences);
  for (const text of totals.misnamed.slice(0, shown)) console.log(`  another state than told: ${text}`);
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.log(
    `  ${totals.equal} answers equal in ${totals.batches} batches at a known flashblock and ${totals.racing} while it changed, ` +
      `${totals.different} differences, ${totals.missed} spoilt answers missed, ${seconds} s`,
  );
  checks.passed += totals.equal;
  checks.failed += totals.different + totals.missed;
}
console.log(`${checks.passed} passed, ${checks.failed} failed`);
process.exitCode = checks.failed === 0 ? 0 : 1;
