import { setTimeout as pause } from 'node:timers/promises';
import type { Hex } from 'viem';
import { agree, spoil } from '../../differential/compare.ts';
import type { OpSequencer, SequencedBlock } from '../../support/servers/op-sequencer.ts';
import type { Answer } from '../../support/servers/rpc-client.ts';
import { askOracle } from '../comparison.ts';
import type { Question } from '../question.ts';
import type { Moment } from '../rig.ts';
import { type Asker, answersIn, bodyOf, type QuestionsAt, type Said } from './asking.ts';
import type { AsReceived, Candidate, Truth } from './truth.ts';

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
  /** Of the states, those on less or other than the block below ended with. */
  received: number;
  /** Spoilt answers that would have gone unnoticed. */
  missed: number;
  /** From a sealed block at the upstream to the first answer without what it takes back. */
  readonly takenBackMs: number[];
}

export function noTotals(): WatchTotals {
  return {
    ...{ batches: 0, answers: 0, states: 0, stacked: 0, without: 0, unavailable: 0, received: 0, missed: 0 },
    takenBackMs: [],
  };
}

/** What a watch has to know of its run. */
export interface Watched {
  readonly questions: QuestionsAt;
  /** Any moment will do. */
  readonly now: Moment;
}

interface Sample extends Said {
  readonly at: number;
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
  readonly #variants = new Map<string, Promise<Hex | undefined>>();
  readonly #judged = new Map<string, Promise<Judged>>();
  readonly #takenBack: { readonly block: SequencedBlock; readonly at: number }[] = [];
  readonly #sequencer: Pick<OpSequencer, 'build' | 'insert'>;
  #polling: readonly Promise<void>[] = [];
  #over = false;

  constructor(
    modules: {
      readonly oracleUrl: string;
      readonly sequencer: Pick<OpSequencer, 'build' | 'insert'>;
      readonly truth: Truth;
      readonly totals: WatchTotals;
    },
    run: Watched,
  ) {
    this.#oracleUrl = modules.oracleUrl;
    this.#sequencer = modules.sequencer;
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

  /** To be told when a block has become canonical at the upstream that is not as it was pre-confirmed. */
  tookBack(block: SequencedBlock): void {
    this.#takenBack.push({ block, at: performance.now() });
  }

  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#polling);
  }

  /** What was wrong. */
  async problems(): Promise<readonly string[]> {
    const problems = new Set<string>();
    this.#countTakenBack();
    const last = new Map<unknown, Map<string, { readonly attempt: number; readonly index: number }>>();
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
      // Without hashes, a block begins again from index 0 when the one below is sealed otherwise than was received.
      const place = `${newest.number} ${this.#truth.isHashless ? head : ''}`;
      const before = ofConnection.get(place) ?? { attempt: -1, index: -1 };
      if (attempt < before.attempt || (attempt === before.attempt && newest.index < before.index))
        problems.add(`${pending} of attempt ${attempt} after ${JSON.stringify(before)}, on head ${head}`);
      ofConnection.set(place, { attempt, index: newest.index });
    }
    return [...problems];
  }

  async #sample(asker: Asker, atLeast?: string, expected?: string): Promise<void> {
    const said = await asker.ask(this.#body, atLeast);
    this.#samples.push({ ...said, expected, at: performance.now() });
    this.#totals.batches += 1;
  }

  #countTakenBack(): void {
    for (const { block, at } of this.#takenBack) {
      const isFree = ({ named }: Sample): boolean =>
        named.head.endsWith(block.hash) || !(Number.parseInt(named.pending, 10) >= block.number);
      const first = this.#samples.find((sample) => sample.at >= at && isFree(sample));
      if (first !== undefined) this.#totals.takenBackMs.push(first.at - at);
    }
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
    for (const stated of candidates) {
      const candidate = await this.#built(stated);
      // op-geth would not build it: some of it is not valid on what was received.
      if (candidate === undefined) continue;
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
        this.#totals.received += candidate.received === undefined ? 0 : 1;
        this.#totals.missed += expected.filter((answer) => agree(answer, spoil(answer))).length;
        return { candidate, unavailable };
      }
      const [theirs, ours] = excerpts(expected[at], answers[at]);
      wrong.push(
        `${names}: ${JSON.stringify(questions[at]?.ours)}\n    op-geth ${theirs}\n    ours    ${ours}`,
      );
    }
    if (wrong.length === 0) return { problem: `${names}: op-geth cannot build such a block` };
    return { problem: wrong.join('\n    or, of another attempt: ') };
  }

  #expected(candidate: Candidate, questions: readonly Question[]): Promise<readonly Answer[]> {
    const { head, stack } = candidate.moment;
    const key = `${head.hash} ${stack.at(-1)?.hash}`;
    const asked = this.#truths.get(key) ?? this.#ask(candidate, questions);
    this.#truths.set(key, asked);
    return asked;
  }

  /** As received, the parent's hash is what the flashblock says (BLOCKHASH, EIP-2935), not that of what was received. */
  async #ask({ received }: Candidate, questions: readonly Question[]): Promise<readonly Answer[]> {
    const answers = await askOracle(this.#oracleUrl, questions);
    if (received === undefined) return answers;
    const [found, said] = [received.below.hash, received.built.payload.parentHash];
    return JSON.parse(JSON.stringify(answers).replaceAll(found.slice(2), said.slice(2))) as readonly Answer[];
  }

  /** A state that op-geth has; nothing where it cannot be. */
  async #built(candidate: Candidate): Promise<Candidate | undefined> {
    const { received, moment } = candidate;
    if (received === undefined) return candidate;
    const key = `${received.below.hash} ${received.built.payload.blockHash}`;
    const building = this.#variants.get(key) ?? this.#build(received);
    this.#variants.set(key, building);
    const hash = await building;
    const newest = moment.stack.at(-1);
    if (hash === undefined || newest === undefined) return undefined;
    const stack = [...moment.stack.slice(0, -1), { ...newest, hash }];
    return { ...candidate, moment: { ...moment, stack } };
  }

  async #build({ below, built }: AsReceived): Promise<Hex | undefined> {
    try {
      const payload = await this.#sequencer.build(below, built.inputs);
      await this.#sequencer.insert(payload);
      return payload.blockHash;
    } catch {
      // Whoever shows it all the same has nothing to be held against, which is a problem of its own.
      return undefined;
    }
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
