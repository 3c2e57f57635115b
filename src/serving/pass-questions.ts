import type { PassOn } from '../chain/pass-on.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import type { Shares } from '../primitives/shares.ts';
import type { PassedOn, PassedResult, WorkerCommand } from './messages.ts';

/** What a request that is passed on weighs beside keys of state that upstreams are asked for. */
const WEIGHT = 4;
/** What each key weighs that such a request has read: by itself an answer is as long as that of many. */
const KEY_WEIGHT = 0.5;

export interface PassQuestionModules {
  /** Absent where nothing is passed on. */
  readonly passOn: PassOn | undefined;
  /** What clients of all threads may have under way together, in keys. */
  readonly shares: Shares;
  readonly onRefused: () => void;
  readonly say: (order: WorkerCommand) => void;
}

/** Requests that one serving thread has others answer: answered, refused at once, or given up when nobody waits for them. */
export class PassQuestions {
  readonly #modules: PassQuestionModules;
  readonly #asked = new Map<number, AbortController>();

  constructor(modules: PassQuestionModules) {
    this.#modules = modules;
  }

  async ask({ id, client, request }: PassedOn & { readonly id: number }): Promise<void> {
    const { shares, onRefused, say } = this.#modules;
    const weight = WEIGHT + KEY_WEIGHT * (request.kind === 'request' ? (request.keys ?? 0) : 0);
    if (!shares.take(client, weight)) {
      onRefused();
      return say({ kind: 'passed', id, answer: { kind: 'overloaded' } });
    }
    const abort = new AbortController();
    this.#asked.set(id, abort);
    try {
      const answer = await this.#run({ request, client }, abort.signal);
      if (answer.kind === 'overloaded') onRefused();
      if (!abort.signal.aborted) say({ kind: 'passed', id, answer });
    } finally {
      shares.give(client, weight);
      this.#asked.delete(id);
    }
  }

  async #run({ request, client }: PassedOn, signal: AbortSignal): Promise<PassedResult> {
    try {
      const { passOn } = this.#modules;
      if (passOn === undefined) throw new StateUnavailableError('nothing is passed on');
      return await passOn(request, { client, signal });
    } catch (error) {
      if (error instanceof OverloadedError) return { kind: 'overloaded' };
      const isWorded = error instanceof StateUnavailableError;
      return { kind: 'unavailable', reason: isWorded ? error.type.reason : 'no upstream answered' };
    }
  }

  /** Gives up a request. */
  cancel(id: number): void {
    this.#asked.get(id)?.abort();
  }

  /** Gives up all of them: the thread has ended. */
  cancelAll(): void {
    for (const abort of this.#asked.values()) abort.abort();
  }
}
