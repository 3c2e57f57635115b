import { randomBytes } from 'node:crypto';
import type {
  FilterAnswer,
  FilterCriteria,
  FilterLimits,
  FilterOrder,
  FilterQuestion,
} from '../../methods/filters/host.ts';
import { Pace } from '../../primitives/pace.ts';
import { toQuantity } from '../../primitives/parse.ts';
import type { Ledger, LedgerStep } from '../streams/ledger.ts';
import { newHashes, type TransactionStack } from '../streams/transaction-stack.ts';
import { Filter } from './filter.ts';
import { type FilterKind, Journal } from './journal.ts';
import type { FilterMetrics } from './metrics.ts';
import { AnswerRoom, type Page } from './page.ts';
import type { FilterCursor, FilterSpan } from './untold.ts';
import type { FilterVersion } from './version.ts';

export interface FiltersOptions {
  /** Filters of all clients, and of one. */
  readonly maxFilters: number;
  readonly maxPerClient: number;
  /** How long a filter lives that nobody asks for. */
  readonly timeoutMs: number;
  /** What all of them may hold: a quarter for their criteria, the rest for what they have not been told of yet. */
  readonly maxBytes: number;
}

export interface FiltersModules {
  readonly ledger: Pick<Ledger, 'position'>;
  /** Makes what transactions are followed with; done while there is a filter of them. */
  readonly transactions: () => TransactionStack;
  readonly metrics: FilterMetrics;
  /** Tells other threads that something has happened. */
  readonly version: FilterVersion;
  /** Milliseconds; default: of the process. */
  readonly now?: () => number;
}

const LOST = 'its history is not held any more, make another one';
/** Polls of one filter that wait for each other. */
const MAX_WAITING = 64;
const ID_BYTES = 16;
const CRITERIA_SHARE = 4;
/** What one client may have of the room for criteria. */
const CLIENT_SHARE = 4;
const NOTHING = { count: 0, bytes: 0 };

/**
 * The filters of all clients of the process, on the one thread that keeps them: whichever thread is asked asks here. A filter is
 * a place in the journal of the feed. What it has not been told of yet is worked out when its client asks.
 */
export class Filters {
  readonly #options: FiltersOptions;
  readonly #modules: FiltersModules;
  readonly #now: () => number;
  readonly #journal: Journal;
  /** The one that was asked for longest ago comes first. */
  readonly #filters = new Map<string, Filter>();
  readonly #clients = new Map<string, { readonly count: number; readonly bytes: number }>();
  readonly #counts = new Map<FilterKind, number>();
  readonly #room = new AnswerRoom();
  #transactions: TransactionStack | undefined;
  #criteriaBytes = 0;

  constructor(options: FiltersOptions, modules: FiltersModules) {
    this.#options = options;
    this.#modules = modules;
    this.#now = modules.now ?? (() => performance.now());
    this.#journal = new Journal(options.maxBytes - this.#maxCriteriaBytes);
    modules.metrics.watch(() => ({ counts: this.#counts, bytes: this.#criteriaBytes + this.#journal.bytes }));
  }

  /** Answers a question; never rejects but by a fault of the node. */
  async ask(question: FilterQuestion): Promise<FilterAnswer> {
    switch (question.op) {
      case 'create':
        return this.#create(question.criteria, question.client);
      case 'poll':
        return this.#queue(question.filter, question.limits);
      case 'read': {
        const filter = this.#used(question.filter);
        return filter === undefined ? { kind: 'unknown' } : { kind: 'criteria', criteria: filter.criteria };
      }
      case 'settle':
      case 'remove':
        this.tell(question);
        return { kind: 'done' };
    }
  }

  tell(order: FilterOrder): void {
    if (order.op === 'settle') this.#room.settle(order.filter, order.poll);
    const filter = this.#filters.get(order.filter);
    if (filter === undefined) return;
    if (order.op === 'remove') {
      this.#remove(filter);
      return;
    }
    filter.untold.settle(order.poll, order.isSent);
    if (!order.isSent) this.#modules.version.bump();
  }

  hasNothingNew(id: string): boolean {
    const filter = this.#filters.get(id);
    if (filter === undefined || filter.waiting > 0 || !this.#isToldAll(filter)) return false;
    this.#used(id);
    return true;
  }

  /** Takes the next event. */
  take(step: LedgerStep): void {
    this.#modules.version.bump();
    if (this.#filters.size === 0) return;
    const moved = this.#transactions?.move(step);
    const wanted = new Set([...this.#counts].filter(([, count]) => count > 0).map(([kind]) => kind));
    this.#journal.take(step, moved === undefined ? [] : newHashes(moved), wanted);
    let told = step.position;
    for (const { untold } of this.#filters.values()) told = Math.min(told, untold.lowest);
    this.#journal.trim(told);
  }

  /** What comes next does not continue what was told before. */
  lose(): void {
    this.#modules.version.bump();
    this.#journal.lose(this.#modules.ledger.position);
    this.#transactions = undefined;
    if ((this.#counts.get('transactions') ?? 0) > 0) this.#transactions = this.#modules.transactions();
  }

  /** Ends filters that nobody has asked for in a long time. */
  expire(): void {
    const before = this.#now() - this.#options.timeoutMs;
    for (const filter of this.#filters.values()) {
      if (filter.usedAt > before) return;
      this.#modules.metrics.ended('expired');
      this.#remove(filter);
    }
  }

  get #maxCriteriaBytes(): number {
    return Math.floor(this.#options.maxBytes / CRITERIA_SHARE);
  }

  #create(criteria: FilterCriteria, client: string): FilterAnswer {
    const { metrics, ledger } = this.#modules;
    const { maxFilters, maxPerClient } = this.#options;
    const own = this.#clients.get(client) ?? NOTHING;
    const id = toQuantity(BigInt(`0x${randomBytes(ID_BYTES).toString('hex')}`));
    const filter = new Filter(id, client, criteria, ledger.position, this.#now());
    const isMany = own.count >= maxPerClient;
    if (isMany || own.bytes + filter.bytes > this.#maxCriteriaBytes / CLIENT_SHARE) {
      metrics.refused('client');
      const limit = isMany ? `at most ${maxPerClient} a client` : 'or too large for one client';
      return { kind: 'refused', reason: `too many filters, ${limit}` };
    }
    const isFull = (): boolean => this.#filters.size >= maxFilters;
    const isLarge = (): boolean => this.#criteriaBytes + filter.bytes > this.#maxCriteriaBytes;
    while (isFull() && this.#giveWay('count', own.count + 1));
    while (isLarge() && this.#giveWay('bytes', own.bytes + filter.bytes));
    if (isFull() || isLarge()) {
      metrics.refused(isFull() ? 'total' : 'bytes');
      return { kind: 'overloaded' };
    }
    this.#filters.set(id, filter);
    this.#count(filter, 1);
    if (filter.kind === 'transactions') this.#transactions ??= this.#modules.transactions();
    return { kind: 'created', filter: id };
  }

  /** Ends the filter that was asked for longest ago of whoever has most of something; false where nobody has more than that. */
  #giveWay(what: 'count' | 'bytes', than: number): boolean {
    let most: string | undefined;
    for (const [client, held] of this.#clients) if (held[what] > than) [most, than] = [client, held[what]];
    if (most === undefined) return false;
    for (const filter of this.#filters.values()) {
      if (filter.client !== most) continue;
      this.#modules.metrics.ended('displaced');
      this.#remove(filter);
      return true;
    }
    throw new Error('a client is counted that has no filter');
  }

  #remove(filter: Filter): void {
    if (!this.#filters.delete(filter.id)) return;
    this.#modules.version.bump();
    this.#count(filter, -1);
    if (this.#counts.get('transactions') === 0) this.#transactions = undefined;
    if (this.#filters.size === 0) this.#journal.trim(this.#modules.ledger.position);
  }

  #count({ client, kind, bytes }: Filter, change: 1 | -1): void {
    const own = this.#clients.get(client) ?? NOTHING;
    const count = own.count + change;
    if (count === 0) this.#clients.delete(client);
    else this.#clients.set(client, { count, bytes: own.bytes + change * bytes });
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + change);
    this.#criteriaBytes += change * bytes;
  }

  #used(id: string): Filter | undefined {
    const filter = this.#filters.get(id);
    if (filter === undefined) return undefined;
    filter.usedAt = this.#now();
    this.#filters.delete(id);
    this.#filters.set(id, filter);
    return filter;
  }

  async #queue(id: string, limits: FilterLimits): Promise<FilterAnswer> {
    const filter = this.#used(id);
    if (filter === undefined) return { kind: 'unknown' };
    if (filter.waiting >= MAX_WAITING) return { kind: 'overloaded' };
    filter.waiting++;
    const answer = filter.turn.then(() => this.#poll(filter, limits));
    // Not with the answer, which is long and would be held until the next.
    filter.turn = answer.then(
      () => undefined,
      () => undefined,
    );
    try {
      return await answer;
    } finally {
      filter.waiting--;
    }
  }

  /** What a client has not been told of, as far as one answer goes; the rest is for the next. */
  async #poll(filter: Filter, limits: FilterLimits): Promise<FilterAnswer> {
    const page = this.#room.page(filter.client, limits);
    let answer: FilterAnswer | 'again' | undefined;
    try {
      answer = await this.#fill(page, filter, limits);
    } finally {
      if (typeof answer === 'object' && answer.kind === 'changes')
        this.#room.keep(filter.id, answer.poll, page);
      else page.leave()();
    }
    return answer === 'again' ? this.#poll(filter, limits) : answer;
  }

  async #fill(page: Page, filter: Filter, limits: FilterLimits): Promise<FilterAnswer | 'again'> {
    const { untold } = filter;
    const { version, spans } = untold;
    for (const [index, span] of spans.entries()) {
      const end = await this.#read(filter, span, page);
      if (end === undefined) return { kind: 'unknown' };
      if (end === 'lost') return this.#lost(filter);
      if (end === 'no room') return { kind: 'overloaded' };
      if (end === 'too large') {
        return { kind: 'refused', reason: `a log alone exceeds max response size ${limits.maxBytes} bytes` };
      }
      // An answer was given back meanwhile: what it had belongs in front.
      if (untold.version !== version) return 'again';
      if (!page.isFull && index < spans.length - 1) continue;
      const poll = untold.tell(index, end);
      const toldAllAt = this.#isToldAll(filter) ? this.#modules.version.now : undefined;
      return { kind: 'changes', json: page.json, poll, version: toldAllAt };
    }
    throw new Error('a filter has always something to come');
  }

  /** Whether nothing has come since the last answer, and none was given back. */
  #isToldAll({ untold }: Filter): boolean {
    const [next, later] = untold.spans;
    if (next === undefined || later !== undefined || untold.isBroken) return false;
    const { position, offset } = next.from;
    return offset === 0 && position >= this.#modules.ledger.position && this.#journal.isWholeAfter(position);
  }

  /** Reads a part of what is untold, and gives the place up to which it went on the page; undefined where the filter is gone. */
  async #read(
    filter: Filter,
    { from, to }: FilterSpan,
    page: Page,
  ): Promise<FilterCursor | 'lost' | 'too large' | 'no room' | undefined> {
    const pace = new Pace();
    let { position, offset } = from;
    for (;;) {
      if (!this.#filters.has(filter.id)) return undefined;
      if (filter.untold.isBroken || !this.#journal.isWholeAfter(position)) return 'lost';
      const entry = this.#journal.after(position);
      if (entry === undefined) break;
      const messages = filter.messages(entry);
      const isLast = to !== undefined && entry.position > to.position;
      const length = isLast ? to.offset : messages.length;
      for (; offset < length; offset++) {
        if (pace.spend(1)) await pace.rest();
        const text = messages.at(offset);
        if (text === undefined || page.add(text)) continue;
        if (!page.isEmpty) return { position, offset };
        return page.lacksRoom ? 'no room' : 'too large';
      }
      if (isLast) return to;
      ({ position } = entry);
      offset = 0;
    }
    return to ?? { position: Math.max(position, this.#modules.ledger.position), offset: 0 };
  }

  #lost(filter: Filter): FilterAnswer {
    this.#modules.metrics.ended('lost');
    this.#remove(filter);
    return { kind: 'unknown', reason: LOST };
  }
}
