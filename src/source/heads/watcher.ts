import type { Hex } from '../../primitives/hex.ts';
import { backOffMs, type Clock, sleep, systemClock } from '../clock.ts';
import { SourceError } from '../errors.ts';
import type { HeadListener, JsonObject, ReadOptions, UpstreamAnswer, UpstreamHead } from '../interface.ts';
import type { Observe, SourceEvent } from '../pool/events.ts';
import type { WatchOptions } from '../pool/options.ts';
import type { Upstream } from '../pool/upstream.ts';
import type { PoolModules, Upstreams } from '../pool/upstreams.ts';
import { headOf, latestOf } from '../reads/blocks.ts';
import { readHead, shaped } from '../reads/shape.ts';
import { PolledBlocks } from './polled-blocks.ts';

const SUBSCRIBE = 'eth_subscribe';

type Take = (head: UpstreamHead) => void;

/** Follows the heads of all upstreams: announced where an upstream can, asked for where it cannot or falls silent. */
export class HeadWatcher {
  readonly #pool: Upstreams;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #observe: Observe;
  /** By upstream, of those that are asked for their head. */
  readonly #polled = new Map<string, PolledBlocks>();

  constructor(pool: Upstreams, options: WatchOptions, modules: PoolModules = {}) {
    this.#pool = pool;
    this.#options = options;
    this.#clock = modules.clock ?? systemClock;
    this.#random = modules.random ?? Math.random;
    this.#observe = modules.observe ?? (() => {});
  }

  /** Tells what each upstream names, until the signal aborts. */
  async watch(listener: HeadListener, signal: AbortSignal): Promise<void> {
    await Promise.all(this.#pool.upstreams.map((upstream) => this.#watch(upstream, listener, signal)));
  }

  /** A block that came with a look at an upstream's head, if it has not been given out. */
  polledBlock(hash: Hex, { only }: ReadOptions): UpstreamAnswer<JsonObject> | undefined {
    for (const [upstream, polled] of this.#polled) {
      if ((only ?? upstream) !== upstream || !this.#pool.trusts(upstream)) continue;
      const value = polled.take(hash);
      if (value !== undefined) return { value, upstream };
    }
    return undefined;
  }

  /** Asks for an upstream's head, with its block where that is worth it. */
  async #look(upstream: Upstream, signal: AbortSignal): Promise<UpstreamHead> {
    const polled = this.#polled.get(upstream.name) ?? new PolledBlocks();
    this.#polled.set(upstream.name, polled);
    try {
      const { head, block } = polled.isWorth
        ? await latestOf(upstream, signal)
        : { head: await headOf(upstream, signal), block: undefined };
      polled.saw(head, block);
      return head;
    } catch (error) {
      polled.failed();
      throw error;
    }
  }

  async #watch(upstream: Upstream, listener: HeadListener, signal: AbortSignal): Promise<void> {
    let failures = 0;
    let last: UpstreamHead | undefined;
    const taken: Take = (head) => {
      failures = 0;
      const isNew = head.hash !== last?.hash;
      last = head;
      // A liar's would make the others look late.
      if (this.#pool.trusts(upstream.name)) {
        this.#pool.sawHead(upstream.name, head.number);
        this.#observe({ kind: 'named', upstream: upstream.name, number: head.number, hash: head.hash });
        if (isNew) this.#observe({ kind: 'head', upstream: upstream.name, number: head.number });
      }
      listener.onHead({ ...head, upstream: upstream.name });
    };
    while (!signal.aborted) {
      let pauseMs = this.#options.pollMs;
      try {
        if (upstream.subscribe !== undefined && upstream.supports(SUBSCRIBE)) {
          await this.#follow(upstream, upstream.subscribe, taken, signal);
        } else {
          taken(await this.#look(upstream, signal));
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof SourceError)) throw error;
        failures += 1;
        pauseMs = this.#afterFailure(upstream, error, failures, listener);
      }
      await sleep(this.#clock, pauseMs, signal).catch(() => {});
    }
  }

  /** Says what happened and how long to wait. */
  #afterFailure(upstream: Upstream, error: SourceError, failures: number, listener: HeadListener): number {
    const { code, retryAfterMs } = error.type;
    if (
      upstream.subscribe !== undefined &&
      upstream.supports(SUBSCRIBE) &&
      (code === 'unsupported' || code === 'refused')
    ) {
      upstream.giveUpOn(SUBSCRIBE);
      this.#report(upstream, 'polling', error.message);
      return 0;
    }
    listener.onLost(upstream.name);
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
