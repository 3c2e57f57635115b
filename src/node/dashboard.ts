import { countTransactions, decodeOutcome } from '../chain/outcome-codec.ts';
import type { BlockFees } from '../executor/chain-facts.ts';
import type { FeedItem } from '../feed/interface.ts';
import { eventText } from '../rpc/admin/event-stream.ts';
import type { DashboardModules } from '../rpc/admin/routes.ts';
import type { DashboardEvents, DashboardFacts, LiveState, Note, Stats } from '../rpc/admin/state.ts';

/** Flashblocks come every 200 ms: oftener than that nobody sees a difference. */
const LIVE_INTERVAL_MS = 200;
const STATS_INTERVAL_MS = 1_000;
const NOTES_KEPT = 50;

export interface DashboardSources {
  readonly facts: () => DashboardFacts;
  /** Gas of a block, by its header; undefined while there is no chain. */
  readonly fees: (header: Uint8Array) => Pick<BlockFees, 'gasUsed' | 'gasLimit'> | undefined;
  readonly forkAt: (time: number) => string | undefined;
  /** The head that was there before the first event. */
  readonly firstHead: () => Promise<LiveState['head']>;
  readonly stats: () => Promise<Stats>;
}

type Sink = Parameters<DashboardModules['watch']>[0];

/**
 * What the dashboard shows. It hears what everybody who serves hears (the feed), which costs a few header fields an event, and has the rest
 * measured once a second for all pages together, and only while there are any.
 */
export class Dashboard {
  readonly #sources: DashboardSources;
  #head: LiveState['head'];
  #pending: LiveState['pending'];
  #perBlock: number | undefined;
  #notes: readonly Note[] = [];
  #nextNote = 1;
  #sink: Sink | undefined;
  #sentAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #measured: { readonly at: number; readonly stats: Promise<Stats> } | undefined;
  #last: Stats | undefined;

  constructor(sources: DashboardSources) {
    this.#sources = sources;
  }

  /** Takes what happens to the chain. */
  hear(item: FeedItem): void {
    switch (item.kind) {
      case 'preconfirmed':
        this.#extend(item);
        break;
      case 'confirmed':
        this.#confirm(item);
        break;
      case 'dropped':
        // What drops when nothing is there is no news.
        if (this.#pending === undefined || item.from > this.#pending.number) return;
        this.#note('retraction', `pre-confirmed block ${item.from} and above (${item.reason})`);
        this.#pending = undefined;
        break;
      case 'anchored':
        this.#note('anchor', 'a new copy of the chain began');
        [this.#pending, this.#head] = [undefined, undefined];
        break;
      case 'marked':
        return;
    }
    this.#changed();
  }

  /** What the routes need of it. */
  modules(targets: DashboardModules['targets']): DashboardModules {
    return {
      targets,
      state: async () => {
        this.#head ??= await this.#sources.firstHead();
        const stats = await this.#measure();
        return { facts: this.#sources.facts(), live: this.#live(), stats, notes: this.#notes };
      },
      watch: (sink) => {
        this.#sink = sink;
        const timer = setInterval(() => void this.#tick(), STATS_INTERVAL_MS);
        return {
          [Symbol.dispose]: () => {
            clearInterval(timer);
            clearTimeout(this.#timer);
            this.#sink = undefined;
          },
        };
      },
    };
  }

  #extend(item: FeedItem & { readonly kind: 'preconfirmed' }): void {
    const { number, header } = decodeOutcome(item.outcome);
    const { gasUsed = 0, gasLimit = 0 } = this.#sources.fees(header) ?? {};
    const cell = { index: item.index, transactions: countTransactions(item.outcome), gasUsed };
    const before = this.#pending;
    const goesOn = item.index > 0 && before?.number === number;
    if (before !== undefined && before.number < number) this.#perBlock = before.flashblocks.length;
    this.#pending = { number, gasLimit, flashblocks: goesOn ? [...before.flashblocks, cell] : [cell] };
  }

  #confirm({ added, removed }: FeedItem & { readonly kind: 'confirmed' }): void {
    const newest = added.at(-1);
    const first = removed.at(-1);
    if (first !== undefined) {
      const by = newest === undefined ? 'nothing yet' : `${added.length}`;
      this.#note('reorg', `${removed.length} blocks from ${first.number} on replaced by ${by}`);
    }
    if (newest === undefined) {
      this.#head = undefined;
      return;
    }
    this.#head = this.#headOf(newest.outcome);
    const pending = this.#pending;
    if (pending === undefined || pending.number > newest.number) return;
    if (pending.number === newest.number) this.#perBlock = pending.flashblocks.length;
    this.#pending = undefined;
  }

  #headOf(bytes: Uint8Array): LiveState['head'] {
    const { number, hash, header, timestamp, timestampMs } = decodeOutcome(bytes);
    const { gasUsed = 0, gasLimit = 0 } = this.#sources.fees(header) ?? {};
    return {
      ...{ number, hash, gasUsed, gasLimit },
      timestamp: timestampMs ?? timestamp * 1_000,
      transactions: countTransactions(bytes),
      fork: this.#sources.forkAt(timestamp),
    };
  }

  #live(): LiveState {
    return { head: this.#head, pending: this.#pending, flashblocksPerBlock: this.#perBlock };
  }

  /** Tells pages, at once or as soon as the interval is over. */
  #changed(): void {
    if ((this.#sink?.clients ?? 0) === 0 || this.#timer !== undefined) return;
    const waitMs = Math.max(0, this.#sentAt + LIVE_INTERVAL_MS - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sentAt = performance.now();
      this.#send('live', this.#live());
    }, waitMs);
  }

  async #tick(): Promise<void> {
    if ((this.#sink?.clients ?? 0) === 0) return;
    this.#head ??= await this.#sources.firstHead().catch(() => undefined);
    const stats = await this.#measure();
    if (stats !== undefined) this.#send('stats', stats);
  }

  /** What is measured now, at most once a second however many ask; undefined where that fails. */
  async #measure(): Promise<Stats | undefined> {
    const now = performance.now();
    if (this.#measured === undefined || now - this.#measured.at > STATS_INTERVAL_MS * 0.9)
      this.#measured = { at: now, stats: this.#sources.stats() };
    const stats = await this.#measured.stats.catch(() => undefined);
    if (stats !== undefined && stats !== this.#last) {
      this.#compare(this.#last, stats);
      this.#last = stats;
    }
    return stats;
  }

  /** Takes note of what became otherwise while pages were open. */
  #compare(before: Stats | undefined, now: Stats): void {
    if (before === undefined) return;
    const leader = (stats: Stats): string | undefined => stats.upstreams.find(({ leads }) => leads)?.name;
    if (leader(before) !== leader(now)) this.#note('leader', `${leader(now) ?? 'no upstream'} leads`);
    for (const { name, connected } of now.streams) {
      const was = before.streams.find((stream) => stream.name === name);
      if (was !== undefined && was.connected !== connected)
        this.#note('stream', `${name} is ${connected ? 'live' : 'lost'}`);
    }
    const words = ({ reasons }: Stats): string =>
      reasons.length === 0 ? 'ready' : `not ready: ${reasons.map(({ reason }) => reason).join(', ')}`;
    if (words(before) !== words(now)) this.#note('readiness', words(now));
  }

  #note(kind: Note['kind'], text: string): void {
    const note: Note = { id: this.#nextNote++, at: Date.now(), kind, text };
    this.#notes = [...this.#notes, note].slice(-NOTES_KEPT);
    this.#send('note', note);
  }

  #send<Name extends keyof DashboardEvents>(name: Name, data: DashboardEvents[Name]): void {
    const sink = this.#sink;
    if (sink !== undefined && sink.clients > 0) sink.send(eventText(name, data));
  }
}
