import { setTimeout as pause } from 'node:timers/promises';
import { agree, spoil } from '../../differential/compare.ts';
import type { Answer } from '../../support/servers/rpc-client.ts';
import { askOracle } from '../comparison.ts';
import type { Question } from '../questions.ts';
import type { Moment } from '../rig.ts';
import { type Asker, answersIn, bodyOf, type QuestionsAt, type Said } from './asking.ts';
import type { Candidate, Truth } from './truth.ts';

export interface WatchTotals {
  batches: number;
  answers: number;
  /** Of these, so many had another state than any before them in their run. */
  states: number;
  /** Answers with several pre-confirmed blocks, and with none. */
  stacked: number;
  without: number;
  /** Honest errors while blocks are taken back: there is no answer then, and none is made up (B2). */
  unavailable: number;
  /** Spoilt answers that would have gone unnoticed. */
  missed: number;
}

/** What a watch has to know of its run. */
export interface Watched {
  readonly questions: QuestionsAt;
  /** Any moment will do. */
  readonly now: Moment;
}

interface Sample extends Said {
  /** The newest pre-confirmed block that it must show. */
  readonly expected: string | undefined;
}

/** What came of holding a sample against the truth. */
type Judged = { readonly candidate: Candidate; readonly unavailable: boolean } | { readonly problem: string };

const pollPauseMs = 2;
/** What cannot be had now (B10). */
const resourceUnavailable = -32_002;

/** Asks throughout a run, and holds every answer against the state that it says it is of when the run is over. */
export class Watch {
  readonly #oracleUrl: string;
  readonly #truth: Truth;
  readonly #questions: QuestionsAt;
  readonly #totals: WatchTotals;
  readonly #body: string;
  readonly #samples: Sample[] = [];
  readonly #truths = new Map<string, Promise<readonly Answer[]>>();
  readonly #judged = new Map<string, Promise<Judged>>();
  #polling: readonly Promise<void>[] = [];
  #over = false;

  constructor(
    modules: { readonly oracleUrl: string; readonly truth: Truth; readonly totals: WatchTotals },
    run: Watched,
  ) {
    this.#oracleUrl = modules.oracleUrl;
    this.#truth = modules.truth;
    this.#totals = modules.totals;
    this.#questions = run.questions;
    this.#body = bodyOf(run.questions(run.now));
  }

  start(askers: readonly Asker[]): void {
    this.#polling = askers.map(async (asker) => {
      while (!this.#over) {
        await this.#sample(asker);
        await pause(pollPauseMs);
      }
    });
  }

  /** Asks once our node has reached a point, of which `hash` is the newest pre-confirmed block. */
  async expect(asker: Asker, point: string, hash: string): Promise<void> {
    await this.#sample(asker, point, hash);
  }

  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#polling);
  }

  /** What was wrong. */
  async problems(): Promise<readonly string[]> {
    const problems = new Set<string>();
    const last = new Map<unknown, Map<number, { readonly attempt: number; readonly index: number }>>();
    for (const sample of this.#samples) {
      const judged = await this.#judge(sample);
      if ('problem' in judged) {
        problems.add(judged.problem);
        continue;
      }
      if (judged.unavailable) {
        this.#totals.unavailable += 1;
        problems.add(`unavailable: ${sample.body.slice(0, 300)}`);
        continue;
      }
      const { moment, attempt } = judged.candidate;
      const newest = moment.stack.at(-1);
      const { head, pending } = sample.named;
      if (sample.expected !== undefined && newest?.hash !== sample.expected)
        problems.add(`it shows ${pending} on ${head}, and should show block ${sample.expected}`);
      if (moment.stack.length > 1) this.#totals.stacked += 1;
      if (newest === undefined) this.#totals.without += 1;
      if (newest === undefined || attempt === undefined) continue;
      const ofConnection = last.get(sample.connection) ?? new Map();
      last.set(sample.connection, ofConnection);
      const before = ofConnection.get(newest.number) ?? { attempt: -1, index: -1 };
      if (attempt < before.attempt || (attempt === before.attempt && newest.index < before.index))
        problems.add(`${pending} of attempt ${attempt} after ${JSON.stringify(before)}`);
      ofConnection.set(newest.number, { attempt, index: newest.index });
    }
    return [...problems];
  }

  async #sample(asker: Asker, atLeast?: string, expected?: string): Promise<void> {
    const said = await asker.ask(this.#body, atLeast);
    this.#samples.push({ ...said, expected });
    this.#totals.batches += 1;
  }

  /** Equal answers are held against the truth once. */
  #judge({ named, body }: Sample): Promise<Judged> {
    const key = `${named.head} ${named.pending} ${body}`;
    const judging = this.#judged.get(key) ?? this.#hold(named, body);
    this.#judged.set(key, judging);
    return judging;
  }

  async #hold(named: Said['named'], body: string): Promise<Judged> {
    const names = `head ${named.head}, pending ${named.pending}`;
    const candidates = this.#truth.candidates(named);
    if (typeof candidates === 'string') return { problem: `${names}: ${candidates}\n${body.slice(0, 600)}` };
    const answers = answersIn(body);
    const wrong: string[] = [];
    for (const candidate of candidates) {
      const questions = this.#questions(candidate.moment);
      const expected = await this.#expected(candidate, questions);
      let unavailable = false;
      const at = questions.findIndex((_, index) => {
        const [theirs, ours] = [expected[index] as Answer, answers[index] as Answer];
        const isLacking = 'error' in ours && ours.error.code === resourceUnavailable;
        unavailable ||= isLacking;
        return !isLacking && !agree(theirs, ours);
      });
      if (at < 0) {
        this.#totals.answers += answers.length;
        this.#totals.states += 1;
        this.#totals.missed += expected.filter((answer) => agree(answer, spoil(answer))).length;
        return { candidate, unavailable };
      }
      const [theirs, ours] = excerpts(expected[at], answers[at]);
      wrong.push(
        `${names}: ${JSON.stringify(questions[at]?.ours)}\n    op-geth ${theirs}\n    ours    ${ours}`,
      );
    }
    return { problem: wrong.join('\n    or, of another attempt: ') };
  }

  #expected(candidate: Candidate, questions: readonly Question[]): Promise<readonly Answer[]> {
    const { head, stack } = candidate.moment;
    const key = `${head.hash} ${stack.at(-1)?.hash}`;
    const asked = this.#truths.get(key) ?? askOracle(this.#oracleUrl, questions);
    this.#truths.set(key, asked);
    return asked;
  }
}

/** Both from a little before they part. */
function excerpts(...values: readonly (Answer | undefined)[]): readonly string[] {
  const texts = values.map((value) => {
    if (value === undefined) return 'nothing';
    return JSON.stringify('error' in value ? { error: value.error } : { result: value.result });
  });
  const [one = '', other = ''] = texts;
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const from = Math.max(0, same - 200);
  return texts.map((text) => `${from > 0 ? '…' : ''}${text.slice(from, from + 500)}`);
}
