import type { FilterAnswer, FilterQuestion } from '../methods/filters/host.ts';
import { FilterVersion, type FilterVersionMemory } from '../subscriptions/filters/version.ts';
import type { WorkerCommand } from './messages.ts';

/** The thread that keeps the filters of all. */
export const FILTER_THREAD = 0;

/** What all serving threads share about filters. */
export function newFilterMemory(): FilterVersionMemory {
  return FilterVersion.allocate();
}

interface Asked {
  readonly id: number;
  readonly say: (order: WorkerCommand) => void;
}

/** Takes questions about filters to the thread that keeps them, and answers back. On the main thread. */
export class FilterRouter {
  readonly #asked = new Map<number, Asked>();
  readonly #keeper: () => ((order: WorkerCommand) => void) | undefined;
  #nextId = 1;

  /** `keeper` speaks to that thread; undefined while there is none. */
  constructor(keeper: () => ((order: WorkerCommand) => void) | undefined) {
    this.#keeper = keeper;
  }

  ask(question: FilterQuestion, id: number, say: (order: WorkerCommand) => void): void {
    const own = this.#nextId++;
    if (id !== 0) this.#asked.set(own, { id, say });
    this.#keeper()?.({ kind: 'filter', id: id === 0 ? 0 : own, question });
  }

  /** Takes an answer of the thread that keeps them. */
  answered(own: number, answer: FilterAnswer): void {
    const asked = this.#asked.get(own);
    this.#asked.delete(own);
    asked?.say({ kind: 'filtered', id: asked.id, answer });
  }
}
