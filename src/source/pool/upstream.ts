import { type BackOff, type Clock, systemClock } from '../clock.ts';
import { SourceError, type SourceErrorCode } from '../errors.ts';
import type { ReadOptions } from '../interface.ts';
import { type Call, type CallLane, CallQueue, createCall } from '../transport/call-queue.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { HttpTransport } from '../transport/http.ts';
import type { Subscribe } from '../transport/interface.ts';
import { isAnswerToBatch, type RpcAnswer, readAnswer, toSourceError } from '../transport/json-rpc.ts';
import { WsTransport } from '../transport/ws.ts';
import { ChainCheck, type ChainCheckOptions } from './chain-check.ts';
import { Denials } from './denials.ts';

export interface UpstreamOptions extends ChainCheckOptions {
  /** From sending a request to its last byte. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly maxResponseBytes: number;
  /** Calls of one request; an upstream that refuses batches gets one call a request for a while. */
  readonly maxBatchCalls: number;
  readonly maxBatchBytes: number;
  /** Requests on their way at the same time. */
  readonly maxInFlight: number;
  /** Calls that may wait, for following and for requests each; more fail at once. */
  readonly maxQueuedCalls: number;
  /** Longest pause that a rate limit can ask for. */
  readonly maxPauseMs: number;
  /** How long what it refused is not asked for: a method, or batches. */
  readonly denial: BackOff;
}

export interface UpstreamModules {
  readonly clock?: Clock;
  readonly observe?: (event: ExchangeEvent) => void;
  /** Told when it turns out to be of another chain, and when it is of the right one again. */
  readonly onChain?: (chainId: bigint, isRight: boolean) => void;
}

/** How one request went; `aborted` is our own doing. */
/** How one call is made. */
export interface RequestOptions extends Pick<ReadOptions, 'forRequest'> {
  /** An error that is an answer, as that answer; undefined for one that is the upstream's. */
  readonly readError?: Call['readError'];
}

export interface ExchangeEvent {
  readonly calls: number;
  readonly ms: number;
  readonly outcome: 'ok' | 'aborted' | SourceErrorCode;
}

const FIRST_PAUSE_MS = 1_000;
/** The part of all requests on their way that only following may use: it must not wait until one of others is done. */
const KEPT_FOR_FOLLOWING = 1 / 4;
/** Among what can be refused; no method has a space in its name. */
const BATCHES = 'a batch';
const TOO_LONG = /too (?:large|many|long|big)|limit|exceed|maximum|HTTP 413/i;

/** One upstream: batches calls, bounds what is on its way and what waits, and says what each failure means. */
export class Upstream {
  readonly name: string;
  /** Streams announcements, where the transport can. */
  readonly subscribe: Subscribe | undefined;
  readonly #endpoint: Endpoint;
  readonly #options: UpstreamOptions;
  readonly #clock: Clock;
  readonly #observe: (event: ExchangeEvent) => void;
  readonly #transport: ChainCheck;
  readonly #denials: Denials;
  readonly #queue: CallQueue;
  /** Of requests on their way. */
  readonly #aborts = new Set<AbortController>();
  #closed = false;
  #nextId = 1;
  #flushing = false;
  /** What it takes at most while batches, or long ones, are refused. */
  #batchCalls: number;
  #batchWorks = false;
  #pausedUntil = 0;
  #pauses = 0;

  constructor(endpoint: Endpoint, options: UpstreamOptions, modules: UpstreamModules = {}) {
    this.#endpoint = endpoint;
    this.name = endpoint.name;
    this.#options = options;
    this.#clock = modules.clock ?? systemClock;
    this.#observe = modules.observe ?? (() => {});
    this.#batchCalls = options.maxBatchCalls;
    this.#denials = new Denials(options.denial);
    this.#queue = new CallQueue(options.maxQueuedCalls);
    this.#transport = new ChainCheck(endpoint, options, {
      transport:
        endpoint.transport === 'ws'
          ? new WsTransport(endpoint, options, this.#clock)
          : new HttpTransport(endpoint, options),
      clock: this.#clock,
      onChain: modules.onChain ?? (() => {}),
      onNewConnection: () => this.#denials.clear(),
    });
    this.subscribe = this.#transport.subscribe;
  }

  /** Calls that fit in one request, as far as this upstream has shown. */
  get batchCalls(): number {
    return this.supports(BATCHES) ? this.#options.maxBatchCalls : this.#batchCalls;
  }

  /** The chain that it is of instead of the one that it must be. */
  get otherChain(): bigint | undefined {
    return this.#transport.otherChain;
  }

  /** Says which chain it must be of: of any other, it is asked nothing. */
  expectChain(chainId: bigint): void {
    this.#transport.expect(chainId);
  }

  /** False for a while once the upstream said that it does not offer the method. */
  supports(method: string): boolean {
    return !this.#denials.isDenied(method, this.#clock.now());
  }

  /** Remembers a method as of no use here, until it is time to try again or another server may answer. */
  giveUpOn(method: string): void {
    this.#denials.deny(method, this.#clock.now());
  }

  /** One call; calls made in the same turn share a request. Rejects with `SourceError` or the signal's reason. */
  request(
    method: string,
    params: readonly unknown[],
    signal?: AbortSignal,
    { forRequest = false, readError }: RequestOptions = {},
  ): Promise<unknown> {
    const lane: CallLane = forRequest ? 'requests' : 'following';
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const refusal = this.#refusal(method, lane);
      if (refusal !== undefined) return reject(refusal);
      this.#queue.push(
        createCall(this.#nextId++, { method, params, lane, signal, readError }, { resolve, reject }),
      );
      this.#flushSoon();
    });
  }

  /** Connects again at the next call. */
  reset(): void {
    this.#transport.reset();
  }

  close(): void {
    const closed = this.#error('unreachable', 'closed');
    this.#closed = true;
    for (const abort of this.#aborts) abort.abort(closed);
    this.#queue.rejectAll(closed);
    this.#transport.close();
  }

  #refusal(method: string, lane: CallLane): SourceError | undefined {
    if (this.#closed) return this.#error('unreachable', 'closed');
    if (!this.supports(method)) return this.#error('unsupported', `does not offer ${method}`);
    const pause = this.#pausedUntil - this.#clock.now();
    if (pause > 0) return this.#error('rateLimited', 'pauses for its rate limit', pause);
    return this.#queue.isFull(lane) ? this.#error('busy', 'too many calls wait already') : undefined;
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    // After the promises of this turn have run: what they ask for goes along.
    setImmediate(() => {
      this.#flushing = false;
      for (let calls = this.#next(); calls.length > 0; calls = this.#next()) void this.#send(calls);
    });
  }

  /** What is sent next: for following first, and for requests only while something is left for following. */
  #next(): readonly Call[] {
    const { maxInFlight, maxBatchBytes: bytes } = this.#options;
    const free = maxInFlight - this.#aborts.size;
    if (free <= 0) return [];
    const max = { calls: this.batchCalls, bytes };
    const following = this.#queue.take('following', max);
    if (following.length > 0 || free <= Math.floor(maxInFlight * KEPT_FOR_FOLLOWING)) return following;
    return this.#queue.take('requests', max);
  }

  async #send(calls: readonly Call[]): Promise<void> {
    const abort = new AbortController();
    this.#aborts.add(abort);
    const late = this.#error('timeout', `no answer within ${this.#options.timeoutMs} ms`);
    const cancel = this.#clock.after(this.#options.timeoutMs, () => abort.abort(late));
    const abandoned = new DOMException('nobody waits for the answer', 'AbortError');
    for (const call of calls) {
      call.onAbandon = () => {
        if (calls.every(({ settled }) => settled)) abort.abort(abandoned);
      };
    }
    const started = this.#clock.now();
    let outcome: ExchangeEvent['outcome'];
    try {
      const texts = calls.map(({ text }) => text).join(',');
      const ids = calls.map(({ id }) => id);
      const body = calls.length === 1 ? texts : `[${texts}]`;
      const json = await this.#transport.exchange(body, ids, abort.signal);
      outcome = this.#settle(calls, json);
    } catch (error) {
      const failure = error instanceof SourceError ? error : this.#error('garbage', String(error));
      outcome = error === abandoned ? 'aborted' : failure.type.code;
      this.#fail(calls, failure);
    }
    cancel();
    if (outcome === 'ok') this.#pauses = 0;
    this.#aborts.delete(abort);
    this.#observe({ calls: calls.length, ms: this.#clock.now() - started, outcome });
    this.#flushSoon();
  }

  /** Hands out the answers of one request. */
  #settle(calls: readonly Call[], json: unknown): ExchangeEvent['outcome'] {
    const answers = Array.isArray(json) ? json.map(readAnswer) : readAnswer(json);
    if (calls.length > 1 && !isAnswerToBatch(answers)) {
      const [only] = Array.isArray(answers) ? answers : [answers];
      const failure = this.#failureOf(only, 'no batch in answer to a batch');
      this.#fail(calls, failure);
      return failure.type.code;
    }
    const list = Array.isArray(answers) ? answers : [answers];
    const byId = new Map(list.map((answer) => [answer?.id, answer]));
    // The only call of a request needs no id to be matched: some errors have none.
    const anonymous = calls.length === 1 ? byId.get(undefined) : undefined;
    const split: Call[] = [];
    let outcome: ExchangeEvent['outcome'] = 'ok';
    for (const call of calls) {
      const answer = byId.get(call.id) ?? anonymous;
      if (answer !== undefined && 'result' in answer) {
        call.resolve(answer.result);
        continue;
      }
      const told = answer === undefined ? undefined : call.readError?.(answer.error);
      if (told !== undefined) {
        call.resolve(told);
        continue;
      }
      const failure = this.#failureOf(answer, `no answer to ${call.method}`);
      outcome = failure.type.code;
      if (outcome === 'tooLarge' && calls.length > 1) split.push(call);
      else this.#reject(call, failure);
    }
    if (calls.length > 1) this.#batchWorks = true;
    this.#queue.regroup(split, Math.ceil(calls.length / 2));
    return outcome;
  }

  /** One failure for a whole request: it goes out again in smaller parts where that can help. */
  #fail(calls: readonly Call[], failure: SourceError): void {
    const { code } = failure.type;
    const half = Math.ceil(calls.length / 2);
    if (calls.length > 1 && code === 'tooLarge') {
      this.#queue.regroup(calls, half);
      return;
    }
    if (calls.length > 1 && (code === 'refused' || code === 'unsupported')) {
      // One that is known to take batches, or says so, found this one too long. Any other takes none.
      const size = this.#batchWorks || TOO_LONG.test(failure.message) ? half : 1;
      this.#batchCalls = Math.min(this.batchCalls, size);
      this.giveUpOn(BATCHES);
      this.#queue.regroup(calls, this.#batchCalls);
      return;
    }
    for (const call of calls) this.#reject(call, failure);
  }

  #reject(call: Call, failure: SourceError): void {
    if (failure.type.code === 'unsupported') this.giveUpOn(call.method);
    call.reject(failure);
    if (failure.type.code === 'rateLimited') this.#pause(failure);
  }

  /** Sends nothing for a while. What waits fails now, so that the pool can go elsewhere. */
  #pause(failure: SourceError): void {
    const now = this.#clock.now();
    if (this.#pausedUntil > now) return;
    const asked = failure.type.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** Math.min(this.#pauses, 20);
    this.#pauses += 1;
    this.#pausedUntil = now + Math.min(asked, this.#options.maxPauseMs);
    this.#queue.rejectAll(failure);
  }

  #failureOf(answer: RpcAnswer | undefined, otherwise: string): SourceError {
    if (answer !== undefined && 'error' in answer) return toSourceError(answer.error, this.#endpoint);
    return this.#error('garbage', otherwise);
  }

  #error(code: SourceErrorCode, what: string, retryAfterMs?: number): SourceError {
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
    return new SourceError(
      { code, upstream: this.name, ...wait },
      `${this.name}: ${this.#endpoint.scrub(what)}`,
    );
  }
}
