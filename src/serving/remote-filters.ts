import type { FilterAnswer, FilterHost, FilterOrder, FilterQuestion } from '../methods/filters/host.ts';
import type { FilterVersion } from '../subscriptions/filters/version.ts';
import type { WorkerEvent } from './messages.ts';
import { Waiting } from './waiting.ts';

/** How long a filter is not asked for again while nothing happens: to be asked is what keeps it alive. */
const ANSWERED_HERE_MS = 250;
/** Filters that are known to have nothing to tell. */
const MAX_KNOWN = 4_096;

export interface RemoteFiltersModules {
  readonly say: (news: WorkerEvent) => void;
  readonly version: FilterVersion;
  /** Milliseconds; default: of the process. */
  readonly now?: () => number;
}

/** The filters of all threads, as a thread reaches them that does not keep them: by way of the main thread. */
export class RemoteFilters implements FilterHost {
  readonly #say: (news: WorkerEvent) => void;
  readonly #version: FilterVersion;
  readonly #now: () => number;
  /** Filters that were told all, at which version, and until when they need not be asked for. */
  readonly #toldAll = new Map<string, { readonly version: number; readonly until: number }>();
  readonly #waiting: Waiting<FilterAnswer>;
  /** What was asked for and given up, until it is answered all the same. */
  readonly #late = new Map<number, FilterQuestion>();

  constructor(timeoutMs: number, { say, version, now = () => performance.now() }: RemoteFiltersModules) {
    this.#waiting = new Waiting(timeoutMs);
    this.#say = say;
    this.#version = version;
    this.#now = now;
  }

  hasNothingNew(filter: string): boolean {
    const known = this.#toldAll.get(filter);
    return known !== undefined && known.version === this.#version.now && this.#now() < known.until;
  }

  async ask(question: FilterQuestion): Promise<FilterAnswer> {
    const answer = await this.#waiting.ask({
      send: (id) => this.#say({ kind: 'filter', id, question }),
      cancel: (id) => this.#late.set(id, question),
      late: 'filters did not answer',
      signal: undefined,
    });
    if (question.op === 'poll') this.#learn(question.filter, answer);
    return answer;
  }

  #learn(filter: string, answer: FilterAnswer): void {
    this.#toldAll.delete(filter);
    if (answer.kind !== 'changes' || answer.version === undefined) return;
    this.#toldAll.set(filter, { version: answer.version, until: this.#now() + ANSWERED_HERE_MS });
    const [oldest] = this.#toldAll.keys();
    if (this.#toldAll.size > MAX_KNOWN && oldest !== undefined) this.#toldAll.delete(oldest);
  }

  tell(order: FilterOrder): void {
    // No thread may answer by what it knew before, also while this is on its way.
    if (order.op === 'remove' || !order.isSent) this.#version.bump();
    this.#say({ kind: 'filter', id: 0, question: order });
  }

  /** Takes what the main thread says. */
  hear({ id, answer }: { readonly id: number; readonly answer: FilterAnswer }): void {
    const question = this.#late.get(id);
    this.#waiting.get(id)?.resolve(answer);
    this.#late.delete(id);
    // Nobody was told of it.
    if (question?.op === 'create' && answer.kind === 'created')
      this.tell({ op: 'remove', filter: answer.filter });
    if (question?.op === 'poll' && answer.kind === 'changes') {
      this.tell({ op: 'settle', filter: question.filter, poll: answer.poll, isSent: false });
    }
  }
}
