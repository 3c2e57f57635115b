import type { StateLoader } from '../executor/interface.ts';
import { readKeys } from '../executor/missing.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import type { Shares } from '../primitives/shares.ts';
import type { StateQuestion, WorkerCommand } from './messages.ts';

export interface QuestionModules {
  /** Finds state that the thread's own store does not know. */
  readonly load: StateLoader;
  /** What clients of all threads may have under way together, in keys. */
  readonly shares: Shares;
  readonly onAsked: () => void;
  readonly onRefused: () => void;
  readonly say: (order: WorkerCommand) => void;
}

/** What one serving thread asks the main thread for: answered, refused at once, or given up when nobody waits for it. */
export class StateQuestions {
  readonly #modules: QuestionModules;
  readonly #asked = new Map<number, AbortController>();

  constructor(modules: QuestionModules) {
    this.#modules = modules;
  }

  async ask({ id, keys, count, number, of, client }: StateQuestion & { readonly id: number }): Promise<void> {
    const { load, shares, onAsked, onRefused, say } = this.#modules;
    onAsked();
    if (client !== undefined && !shares.take(client, count)) {
      onRefused();
      return say({ kind: 'refused', id });
    }
    const abort = new AbortController();
    this.#asked.set(id, abort);
    try {
      const context = client === undefined ? undefined : { client, signal: abort.signal };
      const values = await load(readKeys(keys), number, of, context);
      // Copied, so that no more than the values themselves is sent.
      say({ kind: 'loaded', id, values: values.map((value) => value && Uint8Array.from(value)) });
    } catch (error) {
      if (abort.signal.aborted) return;
      if (error instanceof OverloadedError) {
        onRefused();
        return say({ kind: 'refused', id });
      }
      // Upstreams and their words are for the log, not for clients.
      const reason =
        error instanceof StateUnavailableError ? error.type.reason : 'no upstream gave the state asked for';
      say({ kind: 'unavailable', id, reason });
    } finally {
      if (client !== undefined) shares.give(client, count);
      this.#asked.delete(id);
    }
  }

  /** Gives up a question. */
  cancel(id: number): void {
    this.#asked.get(id)?.abort();
  }

  /** Gives up all of them: the thread has ended. */
  cancelAll(): void {
    for (const abort of this.#asked.values()) abort.abort();
  }
}
