import { SingleFlight } from '../../primitives/single-flight.ts';
import { backOffMs, type Clock, sleep, systemClock } from '../clock.ts';
import { mostTelling, SourceError } from '../errors.ts';
import type { Lie, UpstreamAnswer, UpstreamStatus } from '../interface.ts';
import { parseEndpoints } from '../transport/endpoint.ts';
import type { Observe } from './events.ts';
import { hedgedRequest } from './hedged-request.ts';
import { type Member, Members } from './members.ts';
import type { PoolOptions } from './options.ts';
import type { Upstream } from './upstream.ts';

/** Something to find out from any one upstream. */
export interface Question<T> {
  /** Names the question and all its parameters: who asks the same meanwhile gets the same answer. */
  readonly key: string;
  /** Asks one upstream, and throws `SourceError` when the answer is of no use. */
  run(upstream: Upstream, signal: AbortSignal): Promise<T>;
  /** Asked only of upstreams that offer it. */
  readonly needs?: string;
  /** Asked first while it does well. */
  readonly prefer?: string | undefined;
  /** Nobody else is asked. */
  readonly only?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For a request: what follows the chain never waits for it. */
  readonly forRequest?: boolean | undefined;
  /** False for what is slow by nature. */
  readonly hedge?: false;
  /** Fewer rounds than the pool's own. */
  readonly rounds?: number;
}

/** The part of all questions at the same time that may be for requests. */
const SHARE_OF_REQUESTS = 3 / 4;

export interface PoolModules {
  readonly clock?: Clock;
  /** From 0 up to 1; for the jitter of pauses. */
  readonly random?: () => number;
  readonly observe?: Observe;
}

/** Several upstreams as one: the best is asked, a late one hedged, a failing one passed over, a liar banned. */
export class Upstreams {
  readonly #members: Members;
  readonly #options: PoolOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #observe: Observe;
  readonly #flights = new SingleFlight();
  /** Of questions on their way: aborted when they are late, or when the pool closes. */
  readonly #stops = new Set<AbortController>();
  #hedges = 0;
  #closed: SourceError | undefined;

  constructor(urls: readonly string[], options: PoolOptions, modules: PoolModules = {}) {
    this.#options = options;
    this.#clock = modules.clock ?? systemClock;
    this.#random = modules.random ?? Math.random;
    this.#observe = modules.observe ?? (() => {});
    this.#members = new Members(parseEndpoints(urls), options, this.#clock, this.#observe);
  }

  get clock(): Clock {
    return this.#clock;
  }

  get upstreams(): readonly Upstream[] {
    return this.#members.all.map(({ upstream }) => upstream);
  }

  /** Asks until somebody answers; fails with the most telling `SourceError`, or the signal's reason. */
  ask<T>(question: Question<T>): Promise<UpstreamAnswer<T>> {
    const { forRequest = false, only } = question;
    const asked = only === undefined ? question.key : `${only} ${question.key}`;
    // A request may wait together with what follows the chain, but not the other way round.
    const apart = forRequest && !this.#flights.has(asked);
    const key = apart ? `request ${asked}` : asked;
    const limit = this.#options.maxQuestions * (forRequest ? SHARE_OF_REQUESTS : 1);
    if (this.#flights.has(key)) this.#observe({ kind: 'shared' });
    else if (this.#flights.size >= limit) {
      return Promise.reject(
        new SourceError({ code: 'busy' }, 'too many questions to upstreams at the same time'),
      );
    }
    return this.#flights.run(key, question.signal, (signal) => this.#answer(question, signal));
  }

  /** One call, as a question of its own. */
  request(
    method: string,
    params: readonly unknown[],
    options: Omit<Question<unknown>, 'key' | 'run'> = {},
  ): Promise<UpstreamAnswer<unknown>> {
    return this.ask({
      ...options,
      key: `${method}${JSON.stringify(params)}`,
      needs: method,
      run: (upstream, signal) => upstream.request(method, params, signal, options),
    });
  }

  /** Takes note that an upstream gave a false answer: it is banned, longer each time. */
  report(upstream: string, lie: Lie): void {
    this.#members.report(upstream, lie);
  }

  /** False while an upstream is banned. */
  trusts(upstream: string): boolean {
    return this.#members.trusts(upstream);
  }

  /** Takes note of the head an upstream named: one that lags is asked less. */
  sawHead(upstream: string, number: number): void {
    this.#members.sawHead(upstream, number);
  }

  status(): readonly UpstreamStatus[] {
    return this.#members.status();
  }

  close(): void {
    const closed = new SourceError({ code: 'unreachable' }, 'the source is closed');
    this.#closed = closed;
    for (const stop of this.#stops) stop.abort(closed);
    for (const { upstream } of this.#members.all) upstream.close();
  }

  async #answer<T>(question: Question<T>, asked: AbortSignal): Promise<UpstreamAnswer<T>> {
    if (this.#closed !== undefined) throw this.#closed;
    const { deadlineMs } = this.#options;
    // One for all reasons to stop: a composite of signals would cost more than the question.
    const stop = new AbortController();
    let late: SourceError | undefined;
    const cancel = this.#clock.after(deadlineMs, () => {
      late = new SourceError({ code: 'timeout' }, `no answer within ${deadlineMs} ms`);
      stop.abort(late);
    });
    const failures = new Map<Member, SourceError>();
    const onAbort = (): void => stop.abort(asked.reason);
    asked.addEventListener('abort', onAbort, { once: true });
    if (asked.aborted) onAbort();
    this.#stops.add(stop);
    try {
      return await this.#rounds(question, failures, stop.signal);
    } catch (error) {
      throw late !== undefined && error === late ? mostTelling([late, ...failures.values()]) : error;
    } finally {
      this.#stops.delete(stop);
      asked.removeEventListener('abort', onAbort);
      cancel();
    }
  }

  async #rounds<T>(
    question: Question<T>,
    failures: Map<Member, SourceError>,
    signal: AbortSignal,
  ): Promise<UpstreamAnswer<T>> {
    const rounds = Math.min(question.rounds ?? this.#options.rounds, this.#options.rounds);
    for (let round = 1; ; round++) {
      const tried = new Set<Member>();
      for (;;) {
        const [first] = this.#members.candidates(question, tried, failures);
        if (first === undefined) break;
        const won = await this.#attempt(question, first, { tried, failures }, signal);
        if (won !== undefined) return { value: won.value, upstream: won.member.name };
      }
      const again = [...failures.values()].filter(({ retryable }) => retryable);
      if (tried.size === 0 || again.length === 0 || round >= rounds) throw this.#verdict(question, failures);
      const ms = this.#pauseMs(again, round);
      this.#observe({ kind: 'backOff', ms });
      await sleep(this.#clock, ms, signal);
    }
  }

  /** No shorter than the first rate limit to end asks for, when nothing but rate limits is in the way. */
  #pauseMs(failures: readonly SourceError[], round: number): number {
    const asked = Math.min(...failures.map(({ type }) => type.retryAfterMs ?? 0));
    return Math.max(asked, backOffMs(this.#options.backOff, round, this.#random));
  }

  #attempt<T>(
    question: Question<T>,
    first: Member,
    { tried, failures }: { readonly tried: Set<Member>; readonly failures: Map<Member, SourceError> },
    signal: AbortSignal,
  ): Promise<{ readonly member: Member; readonly value: T } | undefined> {
    const { hedgeFactor, hedgeMinMs, maxHedges } = this.#options;
    tried.add(first);
    return hedgedRequest(
      {
        first,
        hedgeMs:
          question.hedge === false ? undefined : Math.max(hedgeMinMs, hedgeFactor * first.health.latencyMs),
        hedge: () => {
          const [second] = this.#members.candidates(question, tried, failures);
          if (second === undefined || this.#hedges >= maxHedges) return undefined;
          tried.add(second);
          this.#observe({ kind: 'hedge', upstream: second.name, slow: first.name });
          return second;
        },
        run: (member, inner) => this.#run(question, member, member !== first, inner),
        onFailure: (member, failure) => {
          failures.set(member, failure);
          // Also when the request went well and only its result was of no use.
          if (failure.type.code === 'garbage') member.health.recordUseless(this.#clock.now());
          this.#observe({
            kind: 'failure',
            upstream: member.name,
            code: failure.type.code,
            message: failure.message,
          });
        },
      },
      this.#clock,
      signal,
    );
  }

  async #run<T>(question: Question<T>, member: Member, hedged: boolean, signal: AbortSignal): Promise<T> {
    this.#hedges += hedged ? 1 : 0;
    try {
      const value = await question.run(member.upstream, signal);
      if (this.#members.trusts(member.name)) return value;
      throw new SourceError(
        { code: 'noUpstream', upstream: member.name },
        `${member.name}: was found lying meanwhile`,
      );
    } finally {
      this.#hedges -= hedged ? 1 : 0;
    }
  }

  /** The error for a question that nobody answered. */
  #verdict(question: Question<unknown>, failures: ReadonlyMap<Member, SourceError>): SourceError {
    if (failures.size > 0) return mostTelling([...failures.values()]);
    const asked = this.#members.all.filter(({ name }) => (question.only ?? name) === name);
    const allowed = asked.filter(({ name }) => this.#members.trusts(name));
    return allowed.length === 0
      ? new SourceError({ code: 'noUpstream' }, 'every upstream is banned for lying')
      : new SourceError({ code: 'unsupported' }, `no upstream offers ${question.needs}`);
  }
}
