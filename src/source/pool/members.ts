import type { Clock } from '../clock.ts';
import type { SourceError } from '../errors.ts';
import type { Lie, UpstreamStatus } from '../interface.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { Bans } from './ban.ts';
import type { Observe } from './events.ts';
import { Health } from './health.ts';
import type { PoolOptions } from './options.ts';
import { type ExchangeEvent, Upstream } from './upstream.ts';

export interface Member {
  readonly name: string;
  readonly upstream: Upstream;
  readonly health: Health;
}

/** What decides who may be asked. */
interface Wanted {
  readonly needs?: string;
  readonly prefer?: string | undefined;
  readonly only?: string | undefined;
}

/** Above this share of errors, a preferred upstream is not preferred. */
const UNWELL = 0.5;

/** The upstreams of a pool, how well each does, and who is banned. */
export class Members {
  readonly all: readonly Member[];
  readonly #clock: Clock;
  readonly #observe: Observe;
  readonly #bans: Bans;

  constructor(endpoints: readonly Endpoint[], options: PoolOptions, clock: Clock, observe: Observe) {
    this.#clock = clock;
    this.#observe = observe;
    this.#bans = new Bans(options.ban);
    this.all = endpoints.map((endpoint) => this.#join(endpoint, options));
  }

  report(upstream: string, lie: Lie): void {
    const ms = this.#bans.add(upstream, this.#clock.now());
    this.#observe({ kind: 'banned', upstream, ...lie, lies: this.#bans.lies(upstream), ms });
  }

  trusts(upstream: string): boolean {
    return this.#bans.outFor(upstream, this.#clock.now()) === 0;
  }

  sawHead(upstream: string, number: number): void {
    this.all.find(({ name }) => name === upstream)?.health.sawHead(number);
  }

  /** Who may be asked now, best first. */
  candidates(
    wanted: Wanted,
    tried: ReadonlySet<Member>,
    failures: ReadonlyMap<Member, SourceError>,
  ): readonly Member[] {
    const now = this.#clock.now();
    const best = this.#bestHead();
    const score = ({ name, health }: Member): number =>
      name === wanted.prefer && health.errorRate(now) < UNWELL ? -1 : health.score(now, best);
    return this.all
      .filter(
        (member) =>
          !tried.has(member) &&
          (wanted.only ?? member.name) === member.name &&
          failures.get(member)?.retryable !== false &&
          this.trusts(member.name) &&
          (wanted.needs === undefined || member.upstream.supports(wanted.needs)),
      )
      .sort((a, b) => score(a) - score(b));
  }

  status(): readonly UpstreamStatus[] {
    const now = this.#clock.now();
    const best = this.#bestHead();
    return this.all.map(({ name, health, upstream }) => ({
      name,
      latencyMs: health.latencyMs,
      errorRate: health.errorRate(now),
      head: health.head < 0 ? undefined : health.head,
      lag: health.head < 0 ? undefined : Math.max(0, best - health.head),
      lies: this.#bans.lies(name),
      outForMs: this.#bans.outFor(name, now),
      batchCalls: upstream.batchCalls,
      otherChain: upstream.otherChain,
    }));
  }

  #join(endpoint: Endpoint, options: PoolOptions): Member {
    const { name } = endpoint;
    const health = new Health();
    const observe = (event: ExchangeEvent): void => {
      health.record(event, this.#clock.now());
      this.#observe({ kind: 'exchange', upstream: name, ...event });
    };
    const onChain = (chainId: bigint, isRight: boolean): void =>
      this.#observe({ kind: 'chain', upstream: name, chainId: String(chainId), isRight });
    const modules = { clock: this.#clock, observe, onChain };
    return { name, health, upstream: new Upstream(endpoint, options, modules) };
  }

  /** Of those who are trusted: a liar's head would make the honest ones look late. */
  #bestHead(): number {
    const trusted = this.all.filter(({ name }) => this.trusts(name));
    return Math.max(-1, ...trusted.map(({ health }) => health.head));
  }
}
