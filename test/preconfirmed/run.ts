// Holds our node's `pending` against op-geth, asked at the hash of the same partial block, after every flashblock of a
// random workload, in each form that streams have. The last line is `N passed, N failed`.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { showDifferences } from '../replica/report.ts';
import { Checks } from '../support/checks.ts';
import { type Form, formsNamed } from '../support/flashblocks/forms.ts';
import { metric, total, untilHead } from '../support/servers/our-node.ts';
import { measureAvailability } from './availability.ts';
import { type AskOurs, askOurs, Comparison, selfAsker } from './comparison.ts';
import { type Feed, feeds, PreconfirmedRig } from './rig.ts';
import { compareAll, Progress } from './walk.ts';

const { values } = parseArgs({
  options: {
    flashblocks: { type: 'string', default: '1500' },
    seed: { type: 'string' },
    /** One form, or `all`: then those without a hash have a twelfth of the flashblocks. */
    form: { type: 'string', default: 'all' },
    /** How our node hears of them, or `all`: then the others than streams have a fiftieth. */
    feed: { type: 'string', default: 'all' },
    /** Holds op-geth against itself: shows that it has an answer to everything, and what the test itself costs. */
    self: { type: 'boolean', default: false },
  },
});
const formOfFeed = { newFlashblocks: 'allZero', polling: 'real', fleet: 'allZero' } as const;
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const chosenFeeds = feeds.filter((feed) => values.feed === 'all' || feed === values.feed);
if (chosenFeeds.length === 0) throw new Error(`--feed is one of ${feeds.join(', ')}, all`);
const chosen = formsNamed(values.form)
  .flatMap((form) => chosenFeeds.map((feed): Case => ({ form, feed })))
  // With all of both, each feed once: what a feed does hardly depends on the form.
  .filter(({ form, feed }, _, all) => all.length < 12 || feed === 'raw' || form === formOfFeed[feed]);
const shareOf = ({ form, feed }: Case): number => {
  if (chosen.length === 1) return 1;
  return feed !== 'raw' ? 0.02 : form === 'real' ? 1 : 0.08;
};
interface Case {
  readonly form: Form;
  readonly feed: Feed;
}

/** Batches that are under way while a flashblock arrives. op-geth does not say which state it answers from. */
const racers = values.self ? 0 : 1;
const executedBlocks = 'chain_query_executed_blocks_total';
const misnamedShown = 8;
const outputShown = 3_000;
/** Blocks at the pace of a builder, and the share of their time that must have pre-confirmed state. */
const liveBlocks = 6;
/** Whoever polls may miss the end of a block, and has to wait for it to be sealed. */
const liveShare: Readonly<Record<Feed, number>> = {
  raw: 0.99,
  newFlashblocks: 0.99,
  polling: 0.9,
  fleet: 0.99,
};
/** The test thinks for as long as it likes between two flashblocks, and others may use the machine. */
const patient = [
  ...['--flashblock-silence-ms', '60000', '--preconfirmed-timeout-ms', '20000'],
  ...['--at-least-wait-ms', '20000'],
];

/** What became of blocks so far where flashblocks are executed; a fleet had one before the run. */
async function blocksOf({ executing }: PreconfirmedRig) {
  const sealed = await metric(executing, 'chain_query_preconfirmed_blocks_total');
  const equal = [...sealed].filter(([labels]) => labels.includes('result="equal"'));
  const promoted = equal.reduce((sum, [, count]) => sum + count, 0);
  return { sealed, promoted, executed: await total(executing, executedBlocks) };
}

/** What our node itself says about the run: blocks that were pre-confirmed are not executed when they are sealed. */
async function checkMetrics(
  rig: PreconfirmedRig,
  checks: Checks,
  { blocks }: Progress,
  before: Awaited<ReturnType<typeof blocksOf>>,
): Promise<void> {
  const after = await blocksOf(rig);
  const promoted = after.promoted - before.promoted;
  const executed = after.executed - before.executed;
  const accuracy = Math.min(
    ...(await metric(rig.executing, 'chain_query_preconfirmation_accuracy')).values(),
  );
  console.log(`  promoted ${promoted} of ${blocks} blocks, executed ${executed} again; accuracy ${accuracy}`);
  checks.check(
    'every block is sealed as it was pre-confirmed',
    promoted === blocks,
    Object.fromEntries(after.sealed),
  );
  checks.check('no block is executed again', executed === 0, executed);
  checks.check('the accuracy is 1', accuracy === 1, accuracy);
}

/** Whether there is pre-confirmed state all the time, without waiting for sealed blocks. */
async function checkAvailability(rig: PreconfirmedRig, checks: Checks): Promise<void> {
  const { workload, form, feed } = rig;
  const { live, seconds, looks } = await measureAvailability(rig, { seed, workload, blocks: liveBlocks });
  const share = `${(100 * live).toFixed(2)} %`;
  console.log(`  ${form}, ${feed}: pre-confirmed state ${share} of ${seconds.toFixed(1)} s (${looks} looks)`);
  checks.check(`${form}, ${feed}: there is pre-confirmed state all the time`, live >= liveShare[feed], share);
}

async function run(of: Case, checks: Checks): Promise<Comparison['totals']> {
  const { form, feed } = of;
  const progress = new Progress();
  const wanted = Math.ceil(Number(values.flashblocks) * shareOf(of));
  const streams = [{ encoding: 'text' }, { encoding: 'brotli' }] as const;
  await using rig = await PreconfirmedRig.start({
    ...{ seed, streams, form, feed, serve: patient, withoutOurs: values.self },
  });
  const ask: AskOurs = values.self ? selfAsker(rig.oracle.url, () => rig.moment) : askOurs(rig.ours);
  const comparison = new Comparison(rig.oracle.url, ask);
  const { totals } = comparison;
  try {
    const walk = { seed, wanted, racers };
    if (values.self) await compareAll(rig, comparison, progress, walk);
    else {
      await untilHead(rig.ours, rig.sequencer.head.hash);
      const before = await blocksOf(rig);
      await compareAll(rig, comparison, progress, walk);
      await checkMetrics(rig, checks, progress, before);
      await checkAvailability(rig, checks);
    }
  } catch (error) {
    const said = values.self ? '' : rig.ours.running.output().slice(-outputShown);
    checks.check(
      `--seed ${seed} --form ${form} --feed ${feed} runs to its end`,
      false,
      `${(error as Error).stack}\n${said}`,
    );
  }
  console.log(`seed ${seed}, form ${form}, feed ${feed}: ${progress.summary()}`);
  return totals;
}

function show(totals: Comparison['totals']): void {
  const { asked, differences, misnamed, missed } = totals;
  showDifferences(differences);
  for (const text of misnamed.slice(0, misnamedShown)) console.log(`  another state than told: ${text}`);
  console.log(
    `  compared ${asked.call} calls (${totals.results} with a result), ${asked.slot} slots, ${asked.nonce} nonces, ${asked.balance} balances, ${asked.code} codes, ${asked.block} blocks, ${asked.transaction} transactions, ${totals.receipts} receipts in ` +
      `${asked.receipts} answers, ${totals.logs} logs in ${asked.logs} answers`,
  );
  console.log(
    `  in ${totals.batches} batches at a known flashblock and ${totals.racing} while it changed ` +
      `(${totals.overtaken} of the state before)`,
  );
  console.log(
    `  ${totals.different} differences, ${misnamed.length} of them batches of another state; ` +
      `${missed} spoilt answers missed`,
  );
  console.log(`  ${totals.paidForData} receipts with an L1 fee, ${totals.paidOperator} with an operator fee`);
  for (const [id, count] of totals.allowed) console.log(`  ${id.padEnd(18)} ${count}`);
}

console.log(`seed ${seed}`);
const checks = new Checks();
let [passed, failed] = [0, 0];
for (const of of chosen) {
  const totals = await run(of, checks);
  show(totals);
  checks.check('L1 and operator fees are paid', totals.paidForData > 0 && totals.paidOperator > 0);
  passed += totals.equal;
  failed += totals.different + totals.missed;
}
passed += checks.passed;
failed += checks.failed;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
