import type { Corpus } from '../differential/corpus.ts';
import type { ChainName, WorkloadChain } from '../support/servers/chains.ts';
import { type Answer, type Call, sendBatch, sendBatchNoting } from '../support/servers/rpc-client.ts';
import type { Catalogue } from '../support/workload/catalogue.ts';
import type { ChainView } from './chain-view.ts';
import { type Judge, judgeOf, missesSpoilt } from './judge.ts';
import { withoutMilliseconds } from './milliseconds.ts';
import { headIn, type Replica } from './ours.ts';
import { corpusOf, type Naming, replicaRequest, tamed, type Window } from './requests.ts';

/** An ordinary upstream has the state of 128 blocks; the chain goes on while a request is under way. */
const windowLength = 80;
const attempts = 4;

export interface Difference {
  readonly what: string;
  readonly request: Call;
  readonly asked: Call;
  readonly upstream: Answer;
  readonly ours: Answer;
  readonly head: number;
}

export interface Totals {
  requests: number;
  results: number;
  notComparable: number;
  raced: number;
  /** Spoilt answers that would have gone unnoticed. */
  missed: number;
  /** Batches whose answer says that an upstream ran a part of it. */
  forwarded: number;
  readonly differences: Difference[];
  readonly deviations: Map<string, number>;
}

export interface Sides {
  readonly chain: ChainName;
  readonly upstreamUrl: string;
  readonly replica: Replica;
  readonly view: ChainView;
  readonly catalogue: Catalogue;
  /** The first block that the replica holds. */
  readonly oldest: number;
  /** Where questions to the upstream must not be under way while it mines. */
  readonly still?: WorkloadChain['still'];
  /** Where blocks say their milliseconds beside their timestamp, those of a block. */
  readonly millisecondsOf?: WorkloadChain['millisecondsOf'];
}

interface Exchange {
  readonly request: Call;
  readonly asked: Call;
  readonly upstream: Answer;
  readonly ours: Answer;
}

/** Asks both sides the same and counts what came of it. */
export class Comparison {
  readonly totals: Totals = {
    ...{ requests: 0, results: 0, notComparable: 0, raced: 0, missed: 0, forwarded: 0 },
    differences: [],
    deviations: new Map(),
  };
  private readonly sides: Sides;
  private cached: { readonly window: Window; readonly corpus: Corpus } | undefined;

  constructor(sides: Sides) {
    this.sides = sides;
  }

  /** Requests `first` to `last` of a seed, as one batch. */
  async random(seed: number, indexes: readonly number[], naming: Naming): Promise<void> {
    await this.settled(
      async (window, corpus) => {
        const made = await Promise.all(
          indexes.map((index) => replicaRequest(seed, index, corpus, window, naming)),
        );
        return this.sides.chain === 'anvil' ? made.map(tamed) : made;
      },
      naming,
      (at) => `--seed ${seed}, request ${indexes[at]}`,
    );
  }

  /** Given requests, all pinned to blocks of the window. */
  async given(what: string, make: (window: Window) => readonly Call[]): Promise<void> {
    await this.settled(
      (window) => Promise.resolve(make(window)),
      'pinned',
      () => what,
    );
  }

  /** What both sides hold now. */
  async window(): Promise<Window> {
    const { view, replica, oldest } = this.sides;
    for (;;) {
      const head = await replica.head();
      const last = Math.min(head.number, view.head);
      const isShared = head.number > view.head || view.isCanonical(head);
      if (!isShared || last < oldest) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      const first = Math.max(oldest, last - windowLength);
      const hashes = Array.from({ length: last - first + 1 }, (_, at) => view.hashOf(first + at) ?? '');
      return { first, last, hashes, oldest };
    }
  }

  private async settled(
    make: (window: Window, corpus: Corpus) => Promise<readonly Call[]>,
    naming: Naming,
    nameOf: (at: number) => string,
  ): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const { generation } = this.sides.view;
      const window = await this.window();
      const requests = await make(window, this.corpusFor(window));
      const judge = judgeOf(this.sides.chain, window.last, this.sides.replica.isSelf);
      const exchanges = await this.ask(requests, judge, naming);
      await this.sides.view.settle();
      // Blocks were taken back meanwhile: what a number meant is no longer certain.
      if (this.sides.view.generation !== generation && attempt < attempts) {
        this.totals.raced += requests.length;
        continue;
      }
      exchanges.forEach((exchange, at) => this.count(nameOf(at), exchange, judge, window));
      return;
    }
  }

  private corpusFor(window: Window): Corpus {
    if (this.cached === undefined || this.cached.window.hashes.at(-1) !== window.hashes.at(-1))
      this.cached = { window, corpus: corpusOf(this.sides.catalogue, window) };
    return this.cached.corpus;
  }

  private async ask(requests: readonly Call[], judge: Judge, naming: Naming): Promise<readonly Exchange[]> {
    const { replica, upstreamUrl, still } = this.sides;
    const undisturbed = <T>(ask: () => Promise<T>): Promise<T> => still?.read(ask) ?? ask();
    const asking = sendBatchNoting(replica.url, requests);
    // Only our answer says which block a tag was.
    const head = naming === 'moving' ? headIn((await asking).headers) : undefined;
    const plans = requests.map((request) => judge.plan(request, head));
    const [{ answers, headers }, theirs] = await Promise.all([
      asking,
      undisturbed(() =>
        sendBatch(
          upstreamUrl,
          plans.map(({ asked }) => asked),
        ),
      ),
    ]);
    if (headers.get('x-chain-source') === 'upstream') this.totals.forwarded += 1;
    return requests.map((request, at): Exchange => {
      const [plan, answer, ours] = [plans[at], theirs[at], answers[at]];
      if (plan === undefined || answer === undefined || ours === undefined) throw new Error('a short batch');
      for (const id of plan.used) this.use(id);
      const upstream = plan.expected === undefined || 'error' in answer ? answer : plan.expected;
      const { millisecondsOf } = this.sides;
      const told = millisecondsOf === undefined ? ours : withoutMilliseconds(ours, millisecondsOf);
      return { request, asked: plan.asked, upstream, ours: told };
    });
  }

  private count(what: string, exchange: Exchange, judge: Judge, window: Window): void {
    const { totals } = this;
    const { request, upstream, ours } = exchange;
    totals.requests += 1;
    if ('result' in upstream) totals.results += 1;
    const judgement = judge.judge(request, upstream, ours);
    if (judgement.verdict === 'different') totals.differences.push({ what, ...exchange, head: window.last });
    if (judgement.verdict === 'not comparable') totals.notComparable += 1;
    if (judgement.verdict === 'allowed') this.use(judgement.deviation);
    if (judgement.verdict === 'equal' && missesSpoilt(judge, request, upstream)) totals.missed += 1;
  }

  private use(id: string): void {
    this.totals.deviations.set(id, (this.totals.deviations.get(id) ?? 0) + 1);
  }
}
