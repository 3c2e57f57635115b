import type { BlockRef } from '../chain/outcome.ts';
import type { StateKey } from '../chain/state-key.ts';
import { ExecutionLimitError, UnknownForkError } from '../executor/errors.ts';
import { type BackOff, type Clock, fullBackOffMs, sleep, systemClock } from '../source/clock.ts';
import { SourceError } from '../source/errors.ts';
import { type Decision, Leader, type Target } from '../source/heads/leader.ts';
import type { Circumstances, Exclusion } from '../source/heads/leader-moment.ts';
import type { ChainSource, HeadListener } from '../source/interface.ts';
import type { Anchoring } from './anchor.ts';
import { RefusedBlockError } from './blocks/refused-block.ts';
import { FalseCopyError, NotExtendingError, UnfollowableError } from './errors.ts';
import { type FinalityModules, markFinality } from './finality.ts';
import type { ChainMover } from './mover.ts';
import { Pruning, type PruningModules, type PruningOptions } from './pruning.ts';
import { type Blame, blameFor, ReanchorReasons, STATE_GONE } from './reanchor-reasons.ts';
import type { RulesGuard } from './rules/rules-guard.ts';

export interface FollowingOptions extends PruningOptions {
  /** Whether a copy that cannot go on may re-anchor, without what it held. */
  readonly reanchor: boolean;
  /** How long every upstream must say nothing but that it cannot, before it does. */
  readonly reanchorAfter: number;
  readonly leaderHysteresis: number;
  /** Pause between looks at what the chain calls safe and final. */
  readonly finalityMs: number;
  readonly retry: BackOff;
}

export interface FollowingModules {
  readonly store: FinalityModules['store'] & PruningModules['store'];
  readonly source: Pick<ChainSource, 'watch' | 'status' | 'hashAt' | 'finality' | 'state'>;
  readonly mover: Pick<ChainMover, 'moveTowards'>;
  readonly anchoring: Pick<Anchoring, 'reanchor'>;
  readonly rules: Pick<RulesGuard, 'refused' | 'stopped' | 'tooOld'>;
  readonly blockTime: PruningModules['blockTime'];
  readonly publish: PruningModules['publish'];
  readonly observe: PruningModules['observe'];
  readonly clock?: Clock;
}

/**
 * Keeps a copy on the canonical chain, which is the leader's ([rules](../../docs/following.md)): tries again for as
 * long as it takes, and says what is in the way.
 */
export class FollowLoop {
  readonly #options: FollowingOptions;
  readonly #modules: FollowingModules;
  readonly #clock: Clock;
  readonly #leader: Leader;
  readonly #reanchorReasons: ReanchorReasons;
  readonly #pruning: Pruning;
  /** Our head as far as it was told to `#leader`. */
  #ours: BlockRef;
  #target: BlockRef | undefined;
  #trouble: string | undefined;
  #wake = Promise.withResolvers<void>();

  /** `ours` is the head of the store. */
  constructor(options: FollowingOptions, modules: FollowingModules, ours: BlockRef) {
    this.#options = options;
    this.#modules = modules;
    this.#clock = modules.clock ?? systemClock;
    const names = modules.source.status().map(({ name }) => name);
    this.#leader = new Leader(names, ours, { hysteresisMs: options.leaderHysteresis });
    this.#reanchorReasons = new ReanchorReasons(options.reanchorAfter, names.length);
    this.#pruning = new Pruning(options, modules);
    this.#ours = ours;
  }

  /** What keeps the copy from the head of the chain; undefined when nothing does. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** The head that it is on its way to. */
  get target(): BlockRef | undefined {
    return this.#target;
  }

  /** The upstream whose chain is followed. */
  get leader(): string | undefined {
    return this.#leader.leader;
  }

  /** Follows until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const listener: HeadListener = {
      onHead: (head) => {
        if (this.#leader.named(head, this.#clock.now())) this.#notify();
      },
      onLost: (upstream) => {
        this.#leader.lost(upstream, this.#clock.now());
        this.#notify();
      },
    };
    signal.addEventListener('abort', () => this.#notify(), { once: true });
    const { source } = this.#modules;
    await Promise.all([source.watch(listener, signal), this.#chase(signal), this.#watchFinality(signal)]);
  }

  async #chase(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const news = this.#wake.promise;
      const { target, wakeMs } = await this.#decide(signal);
      try {
        const isThere = target === undefined || (await this.#modules.mover.moveTowards(target, signal));
        failures = 0;
        this.#reanchorReasons.clear();
        this.#trouble = await this.#otherChain();
        if (!isThere) continue;
        await this.#pruning.step();
      } catch (error) {
        if (signal.aborted) break;
        failures = await this.#recover(error, target, failures + 1, signal);
        continue;
      }
      const cancel = this.#clock.after(this.#restMs(wakeMs), () => this.#notify());
      await news;
      cancel();
    }
  }

  /** How long nothing can change while nobody says anything new. */
  #restMs(wakeMs: number | undefined): number {
    const terms = this.#modules.source.status().flatMap(({ outForMs }) => (outForMs > 0 ? [outForMs] : []));
    return Math.min(wakeMs ?? Number.POSITIVE_INFINITY, this.#options.finalityMs, ...terms);
  }

  #notify(): void {
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers();
    resolve();
  }

  async #decide(signal: AbortSignal): Promise<Decision> {
    await this.#noteHead();
    const decision = this.#leader.decide(await this.#circumstances());
    if (decision.change !== undefined) {
      this.#modules.observe({ kind: 'led', ...decision.change });
      this.#notify();
    }
    for (const upstream of decision.ask) void this.#ask(upstream, signal);
    // Without a leader, what it was on its way to is still what it has not reached.
    if (decision.leader !== undefined) this.#target = decision.target?.head;
    return decision;
  }

  async #noteHead(): Promise<void> {
    const { store } = this.#modules;
    const before = this.#ours;
    const head = (await store.marks())?.head;
    if (head === undefined || head.hash === before.hash) return;
    const isReorganised = (await store.canonicalHash(before.number)) !== before.hash;
    this.#ours = head;
    this.#leader.moved(head, isReorganised);
  }

  async #circumstances(): Promise<Circumstances> {
    const { store } = this.#modules;
    const under = new Set<string>();
    for (const { upstream, number, hash } of this.#leader.heads()) {
      if (number < this.#ours.number && (await store.canonicalHash(number)) === hash) under.add(upstream);
    }
    return { now: this.#clock.now(), out: this.#out(), under };
  }

  #out(): ReadonlyMap<string, Exclusion> {
    const out = new Map<string, Exclusion>();
    for (const { name, outForMs, otherChain } of this.#modules.source.status()) {
      if (otherChain !== undefined) out.set(name, 'of another chain');
      else if (outForMs > 0) out.set(name, 'caught lying');
    }
    return out;
  }

  /** Finds out whether our head is on an upstream's chain. */
  async #ask(upstream: string, signal: AbortSignal): Promise<void> {
    const { number, hash } = this.#ours;
    const theirs = await this.#modules.source
      .hashAt(number, { signal, only: upstream })
      .catch((error: unknown) => {
        if (error instanceof SourceError || signal.aborted) return undefined;
        throw error;
      });
    this.#leader.answered(upstream, hash, theirs?.value === hash, this.#clock.now());
    this.#notify();
  }

  /** Takes note of a failure, and rests where nobody else can be followed meanwhile. The failures in a row by now. */
  async #recover(
    problem: unknown,
    target: Target | undefined,
    failures: number,
    signal: AbortSignal,
  ): Promise<number> {
    const now = this.#clock.now();
    const retryMs = fullBackOffMs(this.#options.retry, failures);
    this.#trouble = problem instanceof Error ? problem.message : String(problem);
    this.#modules.observe({ kind: 'trouble', error: problem, retryMs });
    if (target !== undefined) {
      const { upstream } = target.head;
      if (isFaultOf(upstream, problem)) this.#leader.failed(target.head, now);
      if (problem instanceof UnfollowableError) this.#leader.refused(upstream, now);
      if (problem instanceof ExecutionLimitError) this.#leader.overburdened(upstream, now);
      await this.#noteRules(problem, signal);
      const blame = blameFor(problem, upstream);
      this.#reanchorReasons.failed(blame, now, await this.#withNewerState(blame, signal));
      const next = (await this.#decide(signal)).target?.head.upstream;
      if (failures === 1 && next !== upstream) return failures;
    }
    await sleep(this.#clock, retryMs, signal).catch(() => {});
    await this.#reanchor(problem, signal);
    return failures;
  }

  /** Those who lack the state of our head but have that of theirs: what they have dropped does not come back. */
  async #withNewerState(blame: Blame, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const { upstream, hash, number } of this.#leader.heads()) {
      if (blame.get(upstream) !== STATE_GONE || number <= this.#ours.number) continue;
      const key: StateKey = { kind: 'account', address: new Uint8Array(20) };
      const isThere = await this.#modules.source.state([key], hash, { signal, only: upstream }).then(
        () => true,
        (error: unknown) => {
          if (error instanceof SourceError || signal.aborted) return false;
          throw error;
        },
      );
      if (isThere) found.add(upstream);
    }
    return found;
  }

  /** A block that our rules refuse, or may not be executed by: nobody lied, but they may be too old. */
  async #noteRules(problem: unknown, signal: AbortSignal): Promise<void> {
    const { rules } = this.#modules;
    if (problem instanceof UnknownForkError) await rules.stopped(problem.message);
    if (!(problem instanceof RefusedBlockError)) return;
    await rules.refused(problem, signal);
    // While it may be false, somebody else's is rather gone to.
    if (rules.tooOld === undefined) this.#leader.refused(problem.upstream, this.#clock.now());
  }

  /** Begins at another anchor where nothing else helps: what is held is known to be false, or nobody can go on from it. */
  async #reanchor(problem: unknown, signal: AbortSignal): Promise<void> {
    const { reanchor } = this.#options;
    const { leader } = this.#leader;
    const agreed = this.#reanchorReasons.agreed(this.#leader.heard(this.#clock.now(), this.#out()));
    // A proof against the state root of a block that is held is nobody's word: no others need to be heard.
    const isFalse = problem instanceof FalseCopyError;
    const reason = isFalse ? problem.message : agreed;
    if (reason === undefined || leader === undefined || !reanchor || signal.aborted) return;
    try {
      const mustContinue = !isFalse && reason === STATE_GONE;
      const from = { upstream: leader, mustContinue };
      if (await this.#modules.anchoring.reanchor(reason, from, signal)) this.#reanchorReasons.clear();
    } catch (error) {
      if (signal.aborted) return;
      this.#trouble = error instanceof Error ? error.message : String(error);
      this.#modules.observe({ kind: 'trouble', error, retryMs: 0 });
    }
  }

  /** What to say when every upstream is where none of our blocks can be compared with theirs. */
  async #otherChain(): Promise<string | undefined> {
    const lowest = (await this.#modules.store.marks())?.lowest.number ?? 0;
    const heads = this.#leader.heads();
    if (heads.length === 0 || heads.some(({ number }) => number >= lowest)) return undefined;
    return `every upstream is below block ${lowest}, the first one held: it lags, or its chain was started again`;
  }

  /** Beside the blocks, and not between them: an upstream that takes its time must not hold them up. */
  async #watchFinality(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { leader } = this.#leader;
      if (leader === undefined) {
        // Asked as soon as somebody leads: a copy that has just begun knows of nothing final.
        await this.#wake.promise;
        continue;
      }
      await markFinality(this.#modules, leader, signal);
      await sleep(this.#clock, this.#options.finalityMs, signal).catch(() => {});
    }
  }
}

/** Whether a head was not reached because of who named it. */
function isFaultOf(upstream: string, problem: unknown): boolean {
  if (problem instanceof NotExtendingError || problem instanceof ExecutionLimitError) return true;
  if (!(problem instanceof SourceError)) return false;
  // What several failed at is not the fault of one, unless nobody has the block.
  const isOwn = problem.type.upstream === upstream && !(problem.cause instanceof AggregateError);
  return isOwn || problem.type.code === 'unknownBlock';
}
