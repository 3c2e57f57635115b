import { type Call, CallQueue, createCall } from './call-queue.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Endpoint } from './endpoint.ts';
import { SourceError, type SourceErrorCode } from './errors.ts';
import { HttpTransport } from './http-transport.ts';
import { isAnswerToBatch, type RpcAnswer, readAnswer, toSourceError } from './json-rpc.ts';
import type { Subscribe, Transport } from './transport.ts';
import { WsTransport } from './ws-transport.ts';

export interface UpstreamOptions {
  /** From sending a request to its last byte. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly maxResponseBytes: number;
  /** Calls of one request; an upstream that refuses batches gets one call a request from then on. */
  readonly maxBatchCalls: number;
  readonly maxBatchBytes: number;
  /** Requests on their way at the same time. */
  readonly maxInFlight: number;
  /** Calls that may wait; more fail at once. */
  readonly maxQueuedCalls: number;
  /** Longest pause that a rate limit can ask for. */
  readonly maxPauseMs: number;
}

/** How one request went; `aborted` is our own doing. */
export interface ExchangeEvent {
  readonly calls: number;
  readonly ms: number;
  readonly outcome: 'ok' | 'aborted' | SourceErrorCode;
}

const FIRST_PAUSE_MS = 1_000;
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
  readonly #transport: Transport;
  readonly #unsupported = new Set<string>();
  readonly #queue: CallQueue;
  /** Of requests on their way. */
  readonly #aborts = new Set<AbortController>();
  #closed = false;
  #nextId = 1;
  #flushing = false;
  #batchCalls: number;
  #batchWorks = false;
  #pausedUntil = 0;
  #pauses = 0;

  constructor(
    endpoint: Endpoint,
    options: UpstreamOptions,
    modules: { readonly clock?: Clock; readonly observe?: (event: ExchangeEvent) => void } = {},
  ) {
    this.#endpoint = endpoint;
    this.name = endpoint.name;
    this.#options = options;
    this.#clock = modules.clock ?? systemClock;
    this.#observe = modules.observe ?? (() => {});
    this.#batchCalls = options.maxBatchCalls;
    this.#queue = new CallQueue(options.maxQueuedCalls);
    this.#transport =
      this.#endpoint.transport === 'ws'
        ? new WsTransport(this.#endpoint, options, this.#clock)
        : new HttpTransport(this.#endpoint, options);
    this.subscribe = this.#transport.subscribe;
  }

  /** Calls that fit in one request, as far as this upstream has shown. */
  get batchCalls(): number {
    return this.#batchCalls;
  }

  /** False once the upstream said that it does not offer the method. */
  supports(method: string): boolean {
    return !this.#unsupported.has(method);
  }

  /** Remembers a method as of no use here, for the life of the process. */
  giveUpOn(method: string): void {
    this.#unsupported.add(method);
  }

  /** One call; calls made in the same turn share a request. Rejects with `SourceError` or the signal's reason. */
  request(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const refusal = this.#refusal(method);
      if (refusal !== undefined) return reject(refusal);
      this.#queue.push(createCall(this.#nextId++, { method, params, signal }, { resolve, reject }));
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

  #refusal(method: string): SourceError | undefined {
    if (this.#closed) return this.#error('unreachable', 'closed');
    if (!this.supports(method)) return this.#error('unsupported', `does not offer ${method}`);
    const pause = this.#pausedUntil - this.#clock.now();
    if (pause > 0) return this.#error('rateLimited', 'pauses for its rate limit', pause);
    return this.#queue.full ? this.#error('busy', 'too many calls wait already') : undefined;
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    // After the promises of this turn have run: what they ask for goes along.
    setImmediate(() => {
      this.#flushing = false;
      while (this.#aborts.size < this.#options.maxInFlight) {
        const calls = this.#queue.take({ calls: this.#batchCalls, bytes: this.#options.maxBatchBytes });
        if (calls.length === 0) return;
        void this.#send(calls);
      }
    });
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
      this.#batchCalls = Math.min(this.#batchCalls, size);
      this.#queue.regroup(calls, this.#batchCalls);
      return;
    }
    for (const call of calls) this.#reject(call, failure);
  }

  #reject(call: Call, failure: SourceError): void {
    if (failure.type.code === 'unsupported') this.#unsupported.add(call.method);
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
