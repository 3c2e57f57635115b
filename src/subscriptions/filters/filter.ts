import type { FilterCriteria } from '../../methods/filters/host.ts';
import { type LogBound, parseLogFilter } from '../../methods/logs/log-filter.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { LogQuery } from '../../store/interface.ts';
import { createMatcher, type LogMatcher } from '../../store/match.ts';
import { filterBytes } from '../request.ts';
import { type LogMessage, messagesOf } from '../streams/log-message.ts';
import type { FilterKind, JournalEntry } from './journal.ts';
import { Untold } from './untold.ts';

/** What criteria cost as they came, beside what they cost as they are matched. */
const AS_WRITTEN = 1.25;
const NO_QUERY: LogQuery = { addresses: [], topics: [] };
/** It was read once already, by the thread that the client asked. */
const ANY = {
  compat: false,
  maxAddresses: Number.POSITIVE_INFINITY,
  maxTopics: Number.POSITIVE_INFINITY,
};

/** One filter: what its client wants, and what it has not been told. */
export class Filter {
  readonly id: Hex;
  readonly client: string;
  readonly criteria: FilterCriteria;
  readonly kind: FilterKind;
  /** What its criteria take up, roughly: as they came, and as they are matched. */
  readonly bytes: number;
  readonly #matches: LogMatcher;
  readonly #lowest: number;
  readonly #highest: number;
  readonly #liveSince: number;
  readonly untold: Untold;
  usedAt: number;
  /** Polls of it come one after another. */
  turn: Promise<unknown> = Promise.resolve();
  waiting = 0;

  constructor(id: Hex, client: string, criteria: FilterCriteria, position: number, now: number) {
    this.id = id;
    this.client = client;
    this.criteria = criteria;
    this.usedAt = now;
    this.untold = new Untold({ position, offset: 0 });
    this.#liveSince = position;
    const parsed = criteria.kind === 'logs' ? parseLogFilter(criteria.filter, 'filter', ANY) : undefined;
    const range = parsed?.blockHash === undefined ? parsed : undefined;
    const query = parsed?.query ?? NO_QUERY;
    this.kind = criteria.kind === 'logs' ? viewOf(range?.to) : criteria.kind;
    this.#matches = createMatcher(query);
    this.#lowest = numberOf(range?.from) ?? 0;
    this.#highest = numberOf(range?.to) ?? Number.POSITIVE_INFINITY;
    this.bytes = AS_WRITTEN * filterBytes({ kind: 'logs', query, from: undefined });
  }

  /** How many messages an event has, whoever they are for, and the JSON of each that is for this client. */
  messages(entry: JournalEntry): {
    readonly length: number;
    readonly at: (index: number) => string | undefined;
  } {
    if (this.kind === 'blocks' || this.kind === 'transactions') {
      const hashes = entry[this.kind];
      return { length: hashes.length, at: (index) => `"${hashes[index]}"` };
    }
    const messages = messagesOf(entry[this.kind]);
    return {
      length: messages.length,
      at: (index) => {
        const message = messages[index];
        return message !== undefined && this.#isFor(message) ? message.json(this.#liveSince) : undefined;
      },
    };
  }

  /** As a subscription without a start: told of what came since, and of its taking back. */
  #isFor({ number, removed, since, log }: LogMessage): boolean {
    if (number < this.#lowest || number > this.#highest) return false;
    return (!removed || since > this.#liveSince) && this.#matches(log);
  }
}

function viewOf(to: LogBound | undefined): 'logs' | 'pendingLogs' {
  return to?.kind === 'tag' && to.tag === 'pending' ? 'pendingLogs' : 'logs';
}

function numberOf(bound: LogBound | undefined): number | undefined {
  return bound?.kind === 'number' ? bound.number : undefined;
}
