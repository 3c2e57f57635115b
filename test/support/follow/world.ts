import { Registry } from 'prom-client';
import type { BlockRef, EncodedOutcome, Outcome } from '../../../src/chain/outcome.ts';
import type { StateKey } from '../../../src/chain/state-key.ts';
import { InvalidBlockError } from '../../../src/executor/errors.ts';
import type { FeedItem } from '../../../src/feed/interface.ts';
import { Anchoring } from '../../../src/follow/anchor.ts';
import type { ReadBlock } from '../../../src/follow/blocks/reader.ts';
import type { FollowEvent } from '../../../src/follow/events.ts';
import { type FollowingOptions, FollowLoop } from '../../../src/follow/loop.ts';
import { ChainMover } from '../../../src/follow/mover.ts';
import { ForkWatch } from '../../../src/follow/rules/fork-watch.ts';
import { Refusals } from '../../../src/follow/rules/refusals.ts';
import { RulesGuard } from '../../../src/follow/rules/rules-guard.ts';
import { RulesHealth } from '../../../src/follow/rules/rules-health.ts';
import { PinnedState } from '../../../src/follow/state/pinned-state.ts';
import { type Hex, toHex } from '../../../src/primitives/hex.ts';
import { SourceError, type SourceErrorCode } from '../../../src/source/errors.ts';
import type {
  Finality,
  HeadEvent,
  HeadListener,
  Lie,
  ReadOptions,
  UpstreamAnswer,
  UpstreamHead,
  UpstreamStatus,
} from '../../../src/source/interface.ts';
import type { Store } from '../../../src/store/interface.ts';
import { createMemoryStore } from '../../../src/store/memory/index.ts';
import { ManualClock } from '../source/upstreams.ts';
import { type BlockContent, makeOutcome, refOf } from '../store/contract-chain.ts';

/** For tests only: an upstream that is where it is told to be. */
export interface FakeUpstream {
  readonly name: string;
  /** Its chain, by its last block. */
  tip: Outcome;
  isDown: boolean;
  outForMs: number;
  otherChain: bigint | undefined;
  /** It has no state of our head any more, and of its own head only if that is said. */
  isPruned: boolean;
  hasStateOfHead: boolean;
  finality: Finality;
  /** It names heads and gives no blocks. */
  isLimited: boolean;
  /** Blocks that it names and does not give. */
  readonly withheld: Set<Hex>;
}

const UNDO_WINDOW = 16;
const WINDOWS = { undoWindow: { blocks: UNDO_WINDOW, ms: 0 }, hotWindow: UNDO_WINDOW };
export const HYSTERESIS = 5_000;
const REANCHOR_AFTER = 600_000;
export const REFUSED_AFTER = 60_000;
const silentLogger = { info() {}, warn() {}, error() {} };
const OPTIONS: FollowingOptions = {
  ...{ history: undefined, pruneRows: 100, reanchor: true },
  ...{ reanchorAfter: REANCHOR_AFTER, leaderHysteresis: HYSTERESIS, finalityMs: 4_000 },
  retry: { firstMs: 100, maxMs: 5_000 },
};

/** For tests only: everything that follows a chain, but for the EVM and the network, on a clock of its own. */
export class FollowWorld {
  readonly clock = new ManualClock();
  readonly store: Store = createMemoryStore({ undoWindow: UNDO_WINDOW });
  readonly upstreams: readonly FakeUpstream[];
  readonly events: FollowEvent[] = [];
  readonly published: FeedItem[] = [];
  readonly lies: { readonly upstream: string; readonly lie: Lie }[] = [];
  /** What was asked of whom, and what was done to hot state, in order. */
  readonly calls: string[] = [];
  readonly abort = new AbortController();
  /** Blocks that do not verify. */
  readonly invalid = new Set<Hex>();
  readonly mover: ChainMover;
  readonly rules: RulesGuard;
  following: FollowLoop | undefined;
  #running: Promise<void> | undefined;
  readonly #blocks = new Map<Hex, Outcome>();
  #listener: HeadListener | undefined;

  constructor(count: number, options: Partial<FollowingOptions> = {}) {
    this.options = { ...OPTIONS, ...options };
    const genesis = this.add(undefined);
    this.upstreams = ['a', 'b', 'c'].slice(0, count).map((name) => ({
      ...{
        name,
        tip: genesis,
        isDown: false,
        outForMs: 0,
        otherChain: undefined,
        isPruned: false,
        hasStateOfHead: false,
        isLimited: false,
      },
      finality: { safe: undefined, finalized: undefined },
      withheld: new Set<Hex>(),
    }));
    const { clock, store } = this;
    this.rules = new RulesGuard({
      forks: new ForkWatch(
        { chainId: 1 },
        { forkCheck: 3_600_000 },
        {
          ...{ clock, logger: silentLogger, leader: () => undefined, adopt: async () => {} },
          source: { forkConfigs: async () => [] },
        },
      ),
      refusals: new Refusals({ refusedAfter: REFUSED_AFTER }, { source: this.#source(), clock }),
      health: new RulesHealth({ store, registry: new Registry(), logger: silentLogger }),
    });
    this.mover = new ChainMover(
      { ...WINDOWS, catchUpBlocks: 4, verifyState: true },
      { ...this.modules(), prove: async () => [] },
    );
  }

  readonly options: FollowingOptions;

  /** Makes a block; the same content on the same parent is another block with another salt. */
  add(parent: Outcome | undefined, content: BlockContent = {}): Outcome {
    const outcome = makeOutcome(parent, content);
    this.#blocks.set(outcome.hash, outcome);
    return outcome;
  }

  /** Makes blocks on top of one another, and gives the last. */
  grow(parent: Outcome, blocks: number, salt = ''): Outcome {
    let tip = parent;
    for (let left = blocks; left > 0; left--) tip = this.add(tip, { salt });
    return tip;
  }

  upstream(name: string): FakeUpstream {
    const found = this.upstreams.find((upstream) => upstream.name === name);
    if (found === undefined) throw new Error(`no upstream ${name}`);
    return found;
  }

  at(tip: Outcome, number: number): Outcome | undefined {
    let at: Outcome | undefined = tip;
    while (at !== undefined && at.number > number) at = this.#blocks.get(at.parentHash);
    return at?.number === number ? at : undefined;
  }

  /** Begins a copy at block `anchor` of a chain and follows. */
  async follow(anchor: Outcome): Promise<void> {
    await this.store.append([anchor], { partial: true });
    const modules = { ...this.modules(), mover: this.mover, clock: this.clock, rules: this.rules };
    const anchoring = new Anchoring({ ...this.options, ...WINDOWS, anchor: 'latest' }, modules);
    this.following = new FollowLoop(this.options, { ...modules, anchoring }, refOf(anchor));
    this.#running = this.following.run(this.abort.signal);
    await this.settle();
  }

  /** An upstream goes to a block and says so. */
  async say(name: string, tip: Outcome = this.upstream(name).tip): Promise<void> {
    const upstream = this.upstream(name);
    upstream.tip = tip;
    if (upstream.isDown) this.#listener?.onLost(name);
    else this.#listener?.onHead({ ...headOf(tip), upstream: name });
    await this.settle();
  }

  /** Time passes, a little at a time; who has something to say repeats it. */
  async wait(ms: number, stepMs = 500): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(stepMs, left));
      for (const { name } of this.upstreams) await this.say(name);
    }
  }

  async settle(): Promise<void> {
    // Nothing here takes time but the clock.
    for (let turns = 0; turns < 40; turns++) await new Promise((resolve) => setImmediate(resolve));
  }

  async head(): Promise<BlockRef | undefined> {
    return (await this.store.marks())?.head;
  }

  async end(): Promise<void> {
    this.abort.abort();
    await this.#running;
  }

  modules() {
    const { store, calls, events, published } = this;
    const state = new PinnedState(
      { maxPins: 100, pinDelayMs: 2 ** 30, archiveCodeBytes: 1 },
      { store, read: async (keys) => this.#readState(keys.length), onFault: () => {} },
    );
    return {
      ...{ store, state },
      blockTime: { ms: () => undefined },
      executor: this.#executor() as never,
      source: this.#source(),
      blocks: this.#reader() as never,
      publish: async (item: FeedItem) => {
        calls.push(`publish ${item.kind}`);
        published.push(item);
      },
      observe: (event: FollowEvent) => {
        events.push(event);
        if (event.kind === 'moved') this.rules.moved(event.head);
      },
    };
  }

  /** What reading state of our head gives: it is read for each block that is executed. */
  async #readState(count: number): Promise<{ readonly value: Uint8Array; readonly upstream: string }[]> {
    const asked = this.upstreams.filter(isUsable);
    const failures = asked.map(({ name, isPruned }) =>
      failure(isPruned ? 'stateUnavailable' : 'unreachable', name),
    );
    const honest = asked.find(({ isPruned }) => !isPruned);
    if (honest === undefined)
      throw new SourceError({ code: 'stateUnavailable' }, 'gone', { cause: new AggregateError(failures) });
    return Array.from({ length: count }, () => ({ value: new Uint8Array(0), upstream: honest.name }));
  }

  #executor() {
    const { calls } = this;
    return {
      promote: async () => ({ outcome: undefined, preconfirmed: undefined, difference: undefined }),
      execute: async (rlp: Uint8Array): Promise<EncodedOutcome> => {
        // Made-up blocks end with their hash.
        const outcome = this.#blocks.get(toHex(rlp.slice(-32)));
        if (outcome === undefined || this.invalid.has(outcome.hash)) throw new InvalidBlockError('gas used');
        await this.#readState(1);
        return { ...outcome, encoded: new Uint8Array(0) };
      },
      promoteSealed: () => undefined,
      takeLostPreconfirmed: () => false,
      revertTo: (number: number) => void calls.push(`revert to ${number}`),
      dropPreconfirmed: () => void calls.push('drop pre-confirmed'),
      open: () => void calls.push('restore'),
      apply: () => {},
      expectKnown: () => {},
    };
  }

  #reader() {
    const { calls } = this;
    const read = (outcome: Outcome | undefined, upstream: string): ReadBlock => {
      const isWithheld =
        outcome === undefined || this.upstreams.every(({ withheld }) => withheld.has(outcome.hash));
      if (isWithheld) throw failure('unknownBlock', upstream);
      const { number, hash, parentHash, timestamp, block } = outcome;
      return { number, hash, parentHash, timestamp, rlp: block, upstream };
    };
    return {
      byHash: async (hash: Hex, { prefer = 'a' }: ReadOptions) => {
        calls.push(`block ${hash}`);
        return read(this.#blocks.get(hash), prefer);
      },
      byNumber: async (number: number, { only = '' }: ReadOptions) => {
        calls.push(`block ${number} of ${only}`);
        if (this.upstream(only).isLimited) throw failure('rateLimited', only);
        return read(this.at(this.upstream(only).tip, number), only);
      },
      outcomeOf: async ({ hash }: ReadBlock) => this.#blocks.get(hash),
    };
  }

  #source() {
    const answered = <T>(name: string, value: T): UpstreamAnswer<T> => {
      const upstream = this.upstream(name);
      if (!isUsable(upstream)) throw failure('unreachable', name);
      return { value, upstream: name };
    };
    return {
      watch: async (listener: HeadListener, signal: AbortSignal): Promise<void> => {
        this.#listener = listener;
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
      status: (): readonly UpstreamStatus[] => this.upstreams as never,
      head: async ({ only = '' }: ReadOptions = {}) =>
        answered<UpstreamHead>(only, headOf(this.upstream(only).tip)),
      heads: async () => this.upstreams.map(({ name, tip }) => answered<UpstreamHead>(name, headOf(tip))),
      hashAt: async (number: number, { only = '' }: ReadOptions = {}) => {
        this.calls.push(`hash ${number} of ${only}`);
        const found = this.at(this.upstream(only).tip, number);
        return found === undefined ? undefined : answered(only, found.hash);
      },
      finality: async ({ only = '' }: ReadOptions = {}) => answered(only, this.upstream(only).finality),
      prestate: async () => undefined,
      stateDiffs: () => Promise.reject(new Error('no state diff is needed')),
      state: async (_keys: readonly StateKey[], hash: Hex, { only = '' }: ReadOptions = {}) => {
        const { tip, hasStateOfHead } = this.upstream(only);
        if (!hasStateOfHead || hash !== tip.hash) throw failure('stateUnavailable', only);
        return [answered(only, { kind: 'unknown' as const }).value];
      },
      proof: () => Promise.reject(new Error('no proof is needed')),
      report: (upstream: string, lie: Lie) => void this.lies.push({ upstream, lie }),
    };
  }
}

function isUsable({ isDown, outForMs, otherChain }: FakeUpstream): boolean {
  return !isDown && outForMs === 0 && otherChain === undefined;
}

function failure(code: SourceErrorCode, upstream: string): SourceError {
  return new SourceError({ code, upstream }, `${upstream}: ${code}`);
}

/** For tests only: a block as an upstream names it. */
export function headOf({ number, hash, parentHash }: Outcome): UpstreamHead {
  return { number, hash, parentHash };
}

/** For tests only: where to go because `upstream` said so. */
export function targetOf(
  tip: Outcome,
  mode: 'follow' | 'back' | 'extend',
  upstream = 'a',
): { head: HeadEvent; mode: typeof mode } {
  return { head: { ...headOf(tip), upstream }, mode };
}
