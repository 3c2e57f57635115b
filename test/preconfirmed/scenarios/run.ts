// Faults of pre-confirmed streams and of the chain below them, each and in pairs: whatever our node answers meanwhile
// is exactly the state that it names, as op-geth has it, and it recovers by the next index 0. The last line is
// `N passed, N failed`; `--seed S --run K` does one run again.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { type Form, formsNamed } from '../../support/flashblocks/forms.ts';
import { Random } from '../../support/random.ts';
import { untilHead } from '../../support/servers/our-node.ts';
import type { PreconfirmedRig } from '../rig.ts';
import { Asker, questionsOf } from './asking.ts';
import { Metrics } from './effects.ts';
import { type Channels, Player } from './player.ts';
import type { Act, Stage } from './scene.ts';
import { describe, earlyMs, gapMs, plainAct, type RunScript, scriptOf, silenceMs } from './script.ts';
import { startStagedRig } from './staged-rig.ts';
import { Tally } from './tally.ts';
import { Truth } from './truth.ts';
import { noTotals, Watch } from './watch.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '500' },
    seed: { type: 'string' },
    run: { type: 'string' },
    /** One form of stream, or `all`: then those without a hash have a twelfth of the runs. */
    form: { type: 'string', default: 'all' },
  },
});
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const first = values.run === undefined ? 0 : Number(values.run);
const chosen = formsNamed(values.form);
const runsOf = (form: Form): number =>
  Math.ceil(Number(values.runs) * (form === 'real' || chosen.length === 1 ? 1 : 0.08));
/** So that there are blocks to take back. */
const blocksBefore = 4;
/** How far below the head a run's logs begin; deeper than anything is taken back. */
const logsBelow = 3;
const runsShown = 12;
const problemsShown = 3;
const outputShown = 3_000;
/** For half of the blocks; the rest is shown: other programs use the machine too. */
const takeBackWithinMs = 100;
const limits = [
  ...['--flashblock-gap-ms', `${gapMs}`, '--flashblock-early-ms', `${earlyMs}`],
  ...['--flashblock-silence-ms', `${silenceMs}`, '--preconfirmed-timeout-ms', '5000'],
];

interface Built {
  readonly script: RunScript;
  readonly acts: readonly Act[];
  readonly recovery: Act;
}

const totals = noTotals();
let [passed, failed, flashblocks] = [0, 0, 0];

function fail(what: string, script: RunScript | undefined, problems: readonly string[]): void {
  failed += 1;
  if (failed > runsShown) return;
  console.log(`  FAIL --seed ${seed} ${what}`);
  if (script !== undefined) console.log(`    ${script.kinds.join(' + ')}\n    ${describe(script)}`);
  for (const problem of problems.slice(0, problemsShown)) console.log(`    ${problem}`);
  if (problems.length > problemsShown) console.log(`    and ${problems.length - problemsShown} more`);
}

async function build(stage: Stage, run: number, form: Form): Promise<Built> {
  const script = scriptOf(seed, run, form);
  const random = new Random(seed ^ 0x1b873593, run);
  const acts: Act[] = [];
  for (const act of script.acts) acts.push(await stage.build(act, random));
  return { script, acts, recovery: await stage.build(plainAct(random), random) };
}

/** Our node under test, with all that is shown to it and known of it. */
class Theatre implements Disposable {
  readonly #rig: PreconfirmedRig;
  readonly #stage: Stage;
  readonly #channels: Channels;
  readonly #truth: Truth;
  readonly #askers: readonly [Asker, Asker, Asker];
  readonly #player: Player;
  readonly tally = new Tally();
  /** Our copy begins here. */
  readonly #lowest: number;

  constructor(rig: PreconfirmedRig, stage: Stage, channels: Channels) {
    this.#rig = rig;
    this.#stage = stage;
    this.#channels = channels;
    const { sequencer, ours } = rig;
    this.#truth = new Truth(rig.form !== 'real');
    this.#lowest = sequencer.head.number;
    for (let number = 1; number <= this.#lowest; number += 1)
      this.#truth.confirm({ block: sequencer.at(number), parent: sequencer.at(number - 1).hash });
    this.#askers = [new Asker(ours.url), new Asker(ours.url), new Asker(ours.url)];
    this.#player = new Player({ rig, truth: this.#truth, channels, asker: this.#askers[0] });
  }

  /** Blocks without faults. */
  async warmUp(): Promise<void> {
    const random = new Random(seed, 0);
    for (let left = blocksBefore; left > 0; left -= 1) {
      const watch = this.#watch(-left);
      await this.#player.recover(await this.#stage.build(plainAct(random), random), watch);
      const problems = await watch.problems();
      if (problems.length > 0) fail('before any fault', undefined, problems);
    }
  }

  async play(run: number, { script, acts, recovery }: Built, before: Metrics): Promise<Metrics> {
    const player = this.#player;
    const { published, beats } = player;
    const [connections, stacked] = [this.#connections, totals.stacked];
    const random = new Random(seed ^ 0x27d4eb2f, run);
    const watch = this.#watch(run);
    const [, ...pollers] = this.#askers;
    watch.start(pollers);
    try {
      for (const act of acts) await player.play(act, watch, random);
      await player.recover(recovery, watch);
    } finally {
      await watch.stop();
    }
    const problems = await watch.problems();
    this.#channels.clear();
    const after = await Metrics.of(this.#rig.ours);
    this.tally.count(script, {
      ...{ before, after, published: player.published - published, beats: player.beats - beats },
      ...{ connected: this.#connections - connections, stacked: totals.stacked - stacked },
    });
    flashblocks += player.published - published;
    if (problems.length === 0) passed += 1;
    else fail(`--form ${this.#rig.form} --run ${run}`, script, problems);
    return after;
  }

  [Symbol.dispose](): void {
    this.#player[Symbol.dispose]();
    for (const asker of this.#askers) asker[Symbol.dispose]();
  }

  get #connections(): number {
    return this.#rig.servers.reduce((sum, { accepted }) => sum + accepted, 0);
  }

  #watch(run: number): Watch {
    const { sequencer, workload, oracle } = this.#rig;
    const { head } = sequencer;
    const from = Math.max(this.#lowest, head.number - logsBelow);
    const questions = questionsOf(new Random(seed ^ 0x85ebca6b, run), workload, this.#truth, from);
    const modules = { oracleUrl: oracle.url, sequencer, truth: this.#truth, totals };
    return new Watch(modules, { questions, now: { head, stack: [] } });
  }
}

async function all(rig: PreconfirmedRig, stage: Stage, channels: Channels): Promise<void> {
  using theatre = new Theatre(rig, stage, channels);
  const { form } = rig;
  const end = values.run === undefined ? runsOf(form) : first + 1;
  await theatre.warmUp();
  // A run by itself has the actions that it had among the others.
  for (let run = 0; run < first; run += 1)
    for (let acts = scriptOf(seed, run, form).acts.length + 1; acts > 0; acts -= 1)
      await rig.workload.next(0);
  let metrics = await Metrics.of(rig.ours);
  let next = build(stage, first, form);
  for (let run = first; run < end; run += 1) {
    const built = await next;
    // While this one is shown.
    if (run + 1 < end) next = build(stage, run + 1, form);
    // Told when its turn comes.
    next.catch(() => {});
    try {
      metrics = await theatre.play(run, built, metrics);
    } catch (error) {
      await next.catch(() => {});
      fail(`--form ${form} --run ${run}, and it cannot go on`, built.script, [
        String((error as Error).stack),
      ]);
      throw error;
    }
  }
  theatre.tally.show(metrics);
  // One run by itself may miss.
  if (values.run !== undefined) return;
  for (const kind of theatre.tally.withoutEffect)
    fail(`--form ${form}: ${kind} never had its effect`, undefined, []);
}

async function main(form: Form): Promise<void> {
  const { stage, channels, ...started } = await startStagedRig({ seed, form, serve: limits });
  await using rig = started.rig;
  const began = performance.now();
  try {
    await untilHead(rig.ours, rig.sequencer.head.hash);
    await all(rig, stage, channels);
  } catch (error) {
    const said = rig.ours.running.output().slice(-outputShown);
    fail('runs to its end', undefined, [`${(error as Error).stack}\n${said}`]);
  }
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.log(
    `seed ${seed}, form ${form}: by now ${passed + failed} runs with ${flashblocks} flashblocks, ${seconds} s`,
  );
}

console.log(`seed ${seed}`);
for (const form of chosen) await main(form);
console.log(
  `  ${totals.batches} batches; ${totals.answers} different answers in ${totals.states} states held against op-geth; ` +
    `${totals.stacked} batches of several pre-confirmed blocks, ${totals.without} of none, ${totals.unavailable} not available; ` +
    `${totals.received} states as received, on other than the block below ended with`,
);
const takenBackMs = totals.takenBackMs.toSorted((one, other) => one - other);
const [median, most, worst] = [0.5, 0.95, 1].map(
  (share) => takenBackMs[Math.ceil(share * takenBackMs.length) - 1] ?? 0,
) as [number, number, number];
console.log(
  `  ${takenBackMs.length} sealed blocks took something back: half within ${median.toFixed(0)} ms, 95 % within ` +
    `${most.toFixed(0)} ms, all within ${worst.toFixed(0)} ms`,
);
if (median > takeBackWithinMs)
  fail(`what a sealed block takes back is there for ${median.toFixed(0)} ms`, undefined, []);
if (totals.missed > 0) fail(`${totals.missed} spoilt answers would have been missed`, undefined, []);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
