import { backOffMs, sleep } from '../../clock.ts';
import { SourceError } from '../../errors.ts';
import type { Endpoint } from '../../transport/endpoint.ts';
import { HttpTransport } from '../../transport/http.ts';
import { encodeCall, readAnswer, toSourceError } from '../../transport/json-rpc.ts';
import type { PollOptions, StreamOptions } from '../options.ts';
import type { FeedHealth, FeedModules, FlashblockFeed } from './feed.ts';
import { WholeBlockReader } from './reader.ts';

const CALL_ID = 1;
const QUESTION = encodeCall(CALL_ID, 'eth_getBlockByNumber', ['pending', true]);

/** A node that is asked for its pending block again and again: one question at a time, and less often where it fails. */
export class PendingPolling implements FlashblockFeed {
  readonly #endpoint: Endpoint;
  readonly #options: PollOptions & StreamOptions;
  readonly #modules: FeedModules;
  readonly #whole: WholeBlockReader;
  readonly #transport: HttpTransport;
  #state: FeedHealth['state'] = 'connecting';
  #messages = 0;
  #undecodable = 0;
  #lastAt: number | undefined;
  #failures = 0;

  constructor(endpoint: Endpoint, options: PollOptions & StreamOptions, modules: FeedModules) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#modules = modules;
    this.#whole = new WholeBlockReader(endpoint.name, options.silenceMs, modules);
    this.#transport = new HttpTransport(endpoint, { maxResponseBytes: options.maxTextBytes });
  }

  get name(): string {
    return this.#endpoint.name;
  }

  get health(): FeedHealth {
    return {
      ...{ name: this.name, kind: 'polling', messages: this.#messages, undecodable: this.#undecodable },
      // One question may be on its way for longer than what is pre-confirmed may be old.
      state: this.#state === 'live' && this.#isSilent ? 'silent' : this.#state,
      isVerified: this.#whole.isVerified,
      lastAt: this.#lastAt,
    };
  }

  /** Asks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#modules;
    while (!signal.aborted) {
      const asked = clock.now();
      const pauseMs = await this.#ask(signal);
      const left = Math.max(0, pauseMs - (clock.now() - asked));
      await sleep(clock, left, signal).catch(() => {});
    }
  }

  get #isSilent(): boolean {
    return this.#modules.clock.now() - (this.#lastAt ?? 0) > this.#options.silenceMs;
  }

  /** Asks once; gives the time until the next question. */
  async #ask(signal: AbortSignal): Promise<number> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs);
    try {
      const json = await this.#transport.exchange(QUESTION, [CALL_ID], AbortSignal.any([signal, timeout]));
      const answer = readAnswer(json);
      if (answer === undefined) throw this.#garbage('no answer of a node');
      if ('error' in answer) throw toSourceError(answer.error, this.#endpoint);
      return this.#receive(answer.result);
    } catch (error) {
      if (signal.aborted) return 0;
      return this.#fail(error instanceof SourceError ? error : this.#late());
    }
  }

  #receive(block: unknown): number {
    const { clock, observe, take } = this.#modules;
    this.#messages += 1;
    observe({ kind: 'message', stream: this.name });
    const read = this.#whole.read(block);
    if (!read.ok) {
      this.#undecodable += 1;
      observe({ kind: 'undecodable', stream: this.name, ...read.error.type });
      throw this.#garbage(`a pending block that cannot be used (${read.error.message})`);
    }
    if (this.#state !== 'live')
      observe({ kind: 'stream', stream: this.name, state: 'connected', feed: 'polling' });
    this.#state = 'live';
    this.#failures = 0;
    this.#lastAt = clock.now();
    take(read.flashblock);
    return this.#options.intervalMs;
  }

  #fail(error: SourceError): number {
    const { random, observe } = this.#modules;
    this.#failures += 1;
    this.#state = error.type.code === 'timeout' ? 'silent' : 'lost';
    if (this.#failures === 1) {
      observe({ kind: 'stream', stream: this.name, state: this.#state, reason: error.message });
    }
    const { reconnect, afterGarbage, intervalMs } = this.#options;
    const isOfNoUse = !error.retryable || error.type.code === 'garbage';
    const pauseMs = backOffMs(isOfNoUse ? afterGarbage : reconnect, this.#failures, random);
    return Math.max(intervalMs, pauseMs, error.type.retryAfterMs ?? 0);
  }

  #garbage(what: string): SourceError {
    const { name, scrub } = this.#endpoint;
    return new SourceError({ code: 'garbage', upstream: name }, `${name}: ${scrub(what)}`);
  }

  #late(): SourceError {
    const text = `${this.name}: no answer within ${this.#options.timeoutMs} ms`;
    return new SourceError({ code: 'timeout', upstream: this.name }, text);
  }
}
