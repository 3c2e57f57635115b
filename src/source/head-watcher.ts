import { LRUCache } from 'lru-cache';
import { backOffMs, type Clock, sleep, systemClock } from './clock.ts';
import { SourceError } from './errors.ts';
import type { Observe, SourceEvent } from './events.ts';
import type { Head, HeadEvent } from './interface.ts';
import { Latest } from './latest.ts';
import type { WatchOptions } from './options.ts';
import { headOf } from './read-blocks.ts';
import { readHead, shaped } from './shape.ts';
import type { Upstream } from './upstream.ts';
import type { PoolModules, Upstreams } from './upstreams.ts';

const SUBSCRIBE = 'eth_subscribe';
/** Heads remembered as seen; upstreams are never this far apart and still of use. */
const SEEN_HEADS = 1_024;

type Take = (head: Head) => void;

/** Follows the heads of all upstreams: announced where an upstream can, asked for where it cannot or falls silent. */
export class HeadWatcher {
  readonly #pool: Upstreams;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #observe: Observe;

  constructor(pool: Upstreams, options: WatchOptions, modules: PoolModules = {}) {
    this.#pool = pool;
    this.#options = options;
    this.#clock = modules.clock ?? systemClock;
    this.#random = modules.random ?? Math.random;
    this.#observe = modules.observe ?? (() => {});
  }

  /** Each new head once, in order of arrival; only the newest for who comes late. Ends when the signal aborts. */
  async *heads(signal: AbortSignal): AsyncGenerator<HeadEvent, void> {
    const stop = new AbortController();
    const over = AbortSignal.any([signal, stop.signal]);
    const latest = new Latest<HeadEvent>();
    const emit = this.#filter((event) => {
      if (latest.put(event)) this.#observe({ kind: 'coalesced' });
    });
    const watching = this.#pool.upstreams.map((upstream) =>
      this.#watch(upstream, (head) => emit({ ...head, upstream: upstream.name }), over),
    );
    try {
      for (let head = await latest.take(over); head !== undefined; head = await latest.take(over)) yield head;
    } finally {
      stop.abort();
      await Promise.all(watching);
    }
  }

  /** Passes on what is new: a head nobody named before, or one that the last upstream to lead went back to. */
  #filter(emit: (event: HeadEvent) => void): (event: HeadEvent) => void {
    const seen = new LRUCache<string, true>({ max: SEEN_HEADS });
    let last: HeadEvent | undefined;
    return (event) => {
      if (!this.#pool.trusts(event.upstream)) return;
      this.#pool.sawHead(event.upstream, event.number);
      // Upstreams repeat each other's heads, later or much later; only a leader's step back is a reorganisation.
      const wentBack = last?.upstream === event.upstream && last.hash !== event.hash;
      if (seen.has(event.hash) && !wentBack) return;
      seen.set(event.hash, true);
      last = event;
      this.#observe({ kind: 'head', upstream: event.upstream, number: event.number });
      emit(event);
    };
  }

  async #watch(upstream: Upstream, take: Take, signal: AbortSignal): Promise<void> {
    let failures = 0;
    const taken: Take = (head) => {
      failures = 0;
      take(head);
    };
    while (!signal.aborted) {
      let pauseMs = this.#options.pollMs;
      try {
        if (upstream.subscribe !== undefined && upstream.supports(SUBSCRIBE)) {
          await this.#follow(upstream, upstream.subscribe, taken, signal);
        } else {
          taken(await headOf(upstream, signal));
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof SourceError)) throw error;
        failures += 1;
        pauseMs = this.#afterFailure(upstream, error, failures);
      }
      await sleep(this.#clock, pauseMs, signal).catch(() => {});
    }
  }

  /** Says what happened and how long to wait. */
  #afterFailure(upstream: Upstream, error: SourceError, failures: number): number {
    const { code, retryAfterMs } = error.type;
    if (upstream.supports(SUBSCRIBE) && (code === 'unsupported' || code === 'refused')) {
      upstream.giveUpOn(SUBSCRIBE);
      this.#report(upstream, 'polling', error.message);
      return 0;
    }
    // Once per outage, not once per try.
    if (failures === 1) this.#report(upstream, 'lost', error.message);
    return Math.max(retryAfterMs ?? 0, backOffMs(this.#options.reconnect, failures, this.#random));
  }

  /** Listens to announcements until they end; rejects with why, resolves when they fell silent or the signal aborts. */
  async #follow(
    upstream: Upstream,
    subscribe: NonNullable<Upstream['subscribe']>,
    take: Take,
    signal: AbortSignal,
  ): Promise<void> {
    const ended = new AbortController();
    const over = AbortSignal.any([signal, ended.signal]);
    let latest: string | undefined;
    let failure: Error | undefined;
    let cancel = (): void => {};
    const end = (reason?: Error): void => {
      failure ??= reason;
      ended.abort();
    };
    const note: Take = (head) => {
      latest = head.hash;
      take(head);
      cancel();
      cancel = this.#clock.after(this.#options.staleMs, () => ask(true));
    };
    const ask = (silent: boolean): void => {
      const before = latest;
      headOf(upstream, over).then((head) => {
        const missed = silent && head.hash !== latest && latest === before;
        note(head);
        if (!missed) return;
        // It has heads and does not announce them: a subscription that was lost on its side.
        this.#report(upstream, 'stale');
        upstream.reset();
        end();
      }, end);
    };
    const events = {
      onStart: (): void => {
        this.#report(upstream, 'subscribed');
        // What came before the subscription, or while there was none.
        ask(false);
      },
      onEvent: (value: unknown): void => {
        try {
          note(shaped(upstream, () => readHead(value)));
        } catch (error) {
          end(error as Error);
        }
      },
    };
    // Before the first head too: a subscription may be asked for and never confirmed.
    cancel = this.#clock.after(this.#options.staleMs, () => ask(true));
    try {
      await subscribe(['newHeads'], events, over);
    } catch (error) {
      if (!over.aborted) throw error;
    } finally {
      cancel();
      ended.abort();
    }
    if (failure !== undefined && !signal.aborted) throw failure;
  }

  #report(
    upstream: Upstream,
    state: Extract<SourceEvent, { kind: 'watch' }>['state'],
    reason?: string,
  ): void {
    this.#observe({
      kind: 'watch',
      upstream: upstream.name,
      state,
      ...(reason === undefined ? {} : { reason }),
    });
  }
}
