import type { FilterAnswer, FilterHost, FilterOrder, FilterQuestion } from '../methods/filters/host.ts';
import type { WorkerEvent } from './messages.ts';
import { Waiting } from './waiting.ts';

/** The filters of all threads, as a thread reaches them that does not keep them: by way of the main thread. */
export class RemoteFilters implements FilterHost {
  readonly #say: (news: WorkerEvent) => void;
  readonly #waiting: Waiting<FilterAnswer>;
  /** What was asked for and given up, until it is answered all the same. */
  readonly #late = new Map<number, FilterQuestion>();

  constructor(timeoutMs: number, say: (news: WorkerEvent) => void) {
    this.#waiting = new Waiting(timeoutMs);
    this.#say = say;
  }

  ask(question: FilterQuestion): Promise<FilterAnswer> {
    return this.#waiting.ask({
      send: (id) => this.#say({ kind: 'filter', id, question }),
      cancel: (id) => this.#late.set(id, question),
      late: 'filters did not answer',
      signal: undefined,
    });
  }

  tell(order: FilterOrder): void {
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
