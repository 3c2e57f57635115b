import { zeroHash } from 'viem';
import { agree, spoil } from '../differential/compare.ts';
import { deviationsOn } from '../differential/deviations/deviations.ts';
import { asFields } from '../differential/request-shape.ts';
import type { Difference } from '../replica/comparison.ts';
import { type Answer, sendBatch, sendBatchNoting } from '../support/servers/rpc-client.ts';
import type { Kind, Question } from './question.ts';
import type { Moment } from './rig.ts';
import { unrooted } from './simulation-questions.ts';

/** What an answer says about the state it was made from (B3). */
export interface Named {
  readonly head: string;
  readonly pending: string;
}

/** Our answers to a batch. `atLeast` is the point that they must know of. */
export type AskOurs = (
  questions: readonly Question[],
  atLeast?: string,
) => Promise<{ readonly answers: readonly Answer[]; readonly named: Named }>;

export interface Totals {
  readonly asked: Record<Kind, number>;
  /** Calls that give a result rather than an error. */
  results: number;
  /** Receipts and logs in the answers that were held against each other. */
  receipts: number;
  logs: number;
  /** Receipts whose transaction paid for L1 data, and with an operator fee. */
  paidForData: number;
  paidOperator: number;
  batches: number;
  racing: number;
  /** Of these, the ones that were answered before what had just happened was known. */
  overtaken: number;
  equal: number;
  allowed: Map<string, number>;
  /** Spoilt answers that would have gone unnoticed. */
  missed: number;
  different: number;
  /** The first of them. */
  readonly differences: Difference[];
  /** Batches that named another state than the one they must be of. */
  readonly misnamed: string[];
}

/** So many are kept to be shown. */
const kept = 500;
const momentsKept = 64;

/** About forks of the official chain; here all blocks are of one fork. */
const ofOtherChains: readonly string[] = ['early-list', 'constantinople'];

/** What docs/differential.md allows of calls with `--compat execution-apis`. */
const deviations = deviationsOn({ head: 0, hashes: [] }).filter(
  ({ id, contractOnly }) => contractOnly !== true && !ofOtherChains.includes(id),
);

/** `equal`, `different`, or which deviation allows it. Only calls may fail in words of their own. */
function judge({ kind, ours: request }: Question, told: Answer, ours: Answer): string {
  const expected = request.method === 'eth_simulateV1' ? unrooted(told, ours) : told;
  if (agree(kind === 'block' ? untilSealed(expected, ours) : expected, ours)) return 'equal';
  if (kind !== 'call') return 'different';
  const exchange = { request, geth: expected, ours };
  return deviations.find(({ allows }) => allows?.(exchange) === true)?.id ?? 'different';
}

/** Roots that are zero before a block is sealed, where its stream does not say them. */
function untilSealed(expected: Answer, ours: Answer): Answer {
  const [fields, own] = [expected, ours].map((answer) =>
    'result' in answer ? asFields(answer.result) : undefined,
  );
  if (fields === undefined || own?.['hash'] !== zeroHash) return expected;
  const open = ['stateRoot', 'withdrawalsRoot', 'parentHash'].filter((name) => own[name] === zeroHash);
  return { result: { ...fields, ...Object.fromEntries(open.map((name) => [name, zeroHash])) } };
}

/** As the response headers name a moment. */
export function nameOf({ head, stack }: Moment): Named {
  const newest = stack.at(-1);
  return {
    head: `${head.number};${head.hash}`,
    pending: newest === undefined ? 'none' : `${newest.number};${newest.index}`,
  };
}

export function askOurs(node: { readonly url: string }): AskOurs {
  return async (questions, atLeast) => {
    const { answers, headers } = await sendBatchNoting(
      node.url,
      questions.map(({ ours }) => ours),
      atLeast === undefined ? {} : { 'x-chain-at-least': atLeast },
    );
    const header = (name: string): string => headers.get(name) ?? 'absent';
    return { answers, named: { head: header('x-chain-head'), pending: header('x-chain-pending') } };
  };
}

/** op-geth in our place. */
export function selfAsker(url: string, moment: () => Moment): AskOurs {
  return async (questions) => ({ answers: await askOracle(url, questions), named: nameOf(moment()) });
}

/** The right answers, by op-geth. */
export async function askOracle(url: string, questions: readonly Question[]): Promise<readonly Answer[]> {
  const answers = await sendBatch(
    url,
    questions.flatMap(({ oracle }) => oracle),
  );
  let at = 0;
  return questions.map(({ oracle, expected }) => {
    at += oracle.length;
    return expected(answers.slice(at - oracle.length, at));
  });
}

/** Holds our answers against those of op-geth and counts what came of it. */
export class Comparison {
  readonly totals: Totals = {
    asked: {
      call: 0,
      slot: 0,
      nonce: 0,
      balance: 0,
      code: 0,
      block: 0,
      transaction: 0,
      receipts: 0,
      logs: 0,
    },
    ...{
      results: 0,
      receipts: 0,
      logs: 0,
      paidForData: 0,
      paidOperator: 0,
      batches: 0,
      racing: 0,
      overtaken: 0,
      equal: 0,
      different: 0,
      missed: 0,
    },
    allowed: new Map(),
    differences: [],
    misnamed: [],
  };
  readonly #oracleUrl: string;
  readonly #ask: AskOurs;
  /** Moments by their names; nothing that is under way is older than these. */
  readonly #moments = new Map<string, Moment>();

  constructor(oracleUrl: string, ask: AskOurs) {
    this.#oracleUrl = oracleUrl;
    this.#ask = ask;
  }

  /** Takes note of what ours may know of from now on. */
  remember(moment: Moment): void {
    const { head, pending } = nameOf(moment);
    this.#moments.set(`${head} ${pending}`, moment);
    const oldest = this.#moments.keys().next().value;
    if (this.#moments.size > momentsKept && oldest !== undefined) this.#moments.delete(oldest);
  }

  /** Asks at a moment that does not pass before the answers are there. */
  async settled(
    what: string,
    moment: Moment,
    questions: readonly Question[],
    atLeast: string,
  ): Promise<void> {
    const [{ answers, named }, expected] = await Promise.all([
      this.#ask(questions, atLeast),
      askOracle(this.#oracleUrl, questions),
    ]);
    this.totals.batches += 1;
    const { head, pending } = nameOf(moment);
    if (named.head !== head || named.pending !== pending) {
      this.#misnamed(`${what}: head ${named.head}, pending ${named.pending}; it was ${head}, ${pending}`);
      return;
    }
    this.#count(what, moment, questions, expected, answers);
  }

  /** Asks while things happen; whichever moment the answers are of, all must be of that one. */
  async racing(what: string, now: Moment, make: (moment: Moment) => readonly Question[]): Promise<void> {
    const { answers, named } = await this.#ask(make(now));
    this.totals.racing += 1;
    if (named.pending !== nameOf(now).pending) this.totals.overtaken += 1;
    const moment = this.#moments.get(`${named.head} ${named.pending}`);
    if (moment === undefined) {
      this.#misnamed(`${what}: head ${named.head}, pending ${named.pending}, which never was`);
      return;
    }
    const questions = make(moment);
    this.#count(`${what}, racing`, moment, questions, await askOracle(this.#oracleUrl, questions), answers);
  }

  #misnamed(text: string): void {
    this.totals.different += 1;
    if (this.totals.misnamed.length < kept) this.totals.misnamed.push(text);
  }

  #count(
    what: string,
    moment: Moment,
    questions: readonly Question[],
    expected: readonly Answer[],
    answers: readonly Answer[],
  ): void {
    const { totals } = this;
    questions.forEach((question, at) => {
      const [upstream, ours] = [expected[at], answers[at]];
      if (upstream === undefined || ours === undefined) throw new Error('a short batch');
      const { kind, ours: request, oracle } = question;
      totals.asked[kind] += 1;
      if (kind === 'call' && 'result' in upstream) totals.results += 1;
      this.#countEntries(kind, upstream);
      const verdict = judge(question, upstream, ours);
      if (verdict === 'different') {
        const asked = oracle.at(-1) ?? request;
        totals.different += 1;
        if (totals.differences.length < kept)
          totals.differences.push({ what, request, asked, upstream, ours, head: moment.head.number });
        return;
      }
      totals.equal += 1;
      if (verdict !== 'equal') totals.allowed.set(verdict, (totals.allowed.get(verdict) ?? 0) + 1);
      // A crash of the upstream's says nothing that could be spoilt.
      const saysSomething = verdict !== 'geth-crash';
      if (saysSomething && judge(question, upstream, spoil(upstream)) !== 'different') totals.missed += 1;
    });
  }

  #countEntries(kind: Kind, upstream: Answer): void {
    if (!('result' in upstream) || !Array.isArray(upstream.result)) return;
    const { totals } = this;
    if (kind === 'logs') totals.logs += upstream.result.length;
    if (kind !== 'receipts') return;
    totals.receipts += upstream.result.length;
    for (const receipt of upstream.result as readonly Readonly<Record<string, string>>[]) {
      if (Number(receipt['l1Fee'] ?? 0) > 0) totals.paidForData += 1;
      if (Number(receipt['operatorFeeConstant'] ?? 0) > 0) totals.paidOperator += 1;
    }
  }
}
