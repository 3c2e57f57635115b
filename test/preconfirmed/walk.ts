import { corpusOf } from '../replica/requests.ts';
import type { BuiltFlashblock } from '../support/flashblocks/builder.ts';
import type { Form } from '../support/flashblocks/forms.ts';
import { Random } from '../support/random.ts';
import type { Comparison } from './comparison.ts';
import { planBlock } from './plan.ts';
import { pendingQuestions, racingQuestions, sealedQuestions } from './questions.ts';
import type { Moment, PreconfirmedRig } from './rig.ts';

export interface WalkOptions {
  readonly seed: number;
  /** Flashblocks in all, those counted before included. */
  readonly wanted: number;
  /** Batches that are under way while a flashblock arrives. */
  readonly racers: number;
}

/** Index 0 comes before the block below is sealed: now and then, or as a chain without hashes has it. */
const earlyShare: Readonly<Record<Form, number>> = { real: 0.25, zeroRoot: 0.85, allZero: 0.85 };

/** What was published so far. */
export class Progress {
  flashblocks = 0;
  blocks = 0;
  /** Of these, the ones whose index 0 came before the block below was sealed. */
  early = 0;
  /** Flashblocks on top of a block that was not sealed yet. */
  stacked = 0;
  transactions = 0;
  largest = 0;
  readonly began = performance.now();

  count({ message }: BuiltFlashblock, { stack }: Moment): void {
    const { length } = message.diff.transactions;
    this.flashblocks += 1;
    this.blocks += message.index === 0 ? 1 : 0;
    this.early += message.index === 0 && stack.length > 1 ? 1 : 0;
    this.stacked += stack.length > 1 ? 1 : 0;
    this.transactions += length;
    this.largest = Math.max(this.largest, length);
  }

  summary(): string {
    const seconds = ((performance.now() - this.began) / 1000).toFixed(0);
    return (
      `${this.flashblocks} flashblocks of ${this.blocks} blocks with ${this.transactions} transactions ` +
      `(at most ${this.largest} in one; ${this.stacked} on a block not sealed yet; ${this.early} blocks began so), ${seconds} s`
    );
  }
}

/** Asks everything there is to ask whenever something happens. */
export async function compareAll(
  rig: PreconfirmedRig,
  comparison: Comparison,
  progress: Progress,
  { seed, wanted, racers }: WalkOptions,
): Promise<void> {
  const { workload, form, feed } = rig;
  const name = `--seed ${seed} --form ${form} --feed ${feed}`;
  const oldest = rig.sequencer.head.number;
  let step = 0;
  const compare = async (what: string, moment: Moment, sealed: boolean): Promise<void> => {
    step += 1;
    const random = (salt: number): Random => new Random(seed ^ salt, step);
    comparison.remember(moment);
    const from = Math.max(oldest, moment.head.number - 1);
    const racing = Array.from({ length: racers }, (_, at) =>
      comparison.racing(what, moment, (seen) => racingQuestions(seen, random(0x1000 + at), workload, from)),
    );
    const settled = async (): Promise<void> => {
      const { number, hash } = moment.head;
      const corpus = corpusOf(workload.catalogue, { first: number, last: number, hashes: [hash], oldest });
      const newest = moment.stack.at(-1);
      const atLeast = sealed || newest === undefined ? `${number}` : `${newest.number};${newest.index}`;
      const questions = sealed
        ? await sealedQuestions(moment, random(0x2000), workload, corpus, oldest)
        : await pendingQuestions(moment, random(0x2000), workload, corpus, oldest);
      await comparison.settled(what, moment, questions, atLeast);
    };
    await Promise.all([...racing, settled()]);
  };
  comparison.remember(rig.moment);
  rig.events = {
    published: async (built, moment) => {
      progress.count(built, moment);
      const { block_number: number } = built.message.metadata;
      await compare(`${name}, block ${number} index ${built.message.index}`, moment, false);
    },
    sealed: ({ number }, moment) => compare(`${name}, block ${number} sealed`, moment, true),
  };
  while (progress.flashblocks < wanted) {
    const { plan, faults } = await planBlock(seed, progress.blocks, workload, earlyShare[form]);
    await rig.block(plan, faults);
    if (progress.blocks % 25 === 0) console.log(`  ${progress.summary()}`);
  }
  await rig.seal();
}
