import type { ForwardCall } from '../executor/interface.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import type { Shares } from '../primitives/shares.ts';
import type { ForwardedAnswer, ForwardedCall, WorkerCommand } from './messages.ts';

/** What a call that an upstream runs weighs beside keys of state that it is asked for. */
const WEIGHT = 8;

export interface CallQuestionModules {
  /** Absent where calls that enter native contracts are refused. */
  readonly forward: ForwardCall | undefined;
  /** What clients of all threads may have under way together, in keys. */
  readonly shares: Shares;
  readonly onRefused: () => void;
  readonly say: (order: WorkerCommand) => void;
}

/** Calls that one serving thread has upstreams run: answered, refused at once, or given up when nobody waits for them. */
export class CallQuestions {
  readonly #modules: CallQuestionModules;
  readonly #asked = new Map<number, AbortController>();

  constructor(modules: CallQuestionModules) {
    this.#modules = modules;
  }

  async ask({ id, client, ...call }: ForwardedCall & { readonly id: number }): Promise<void> {
    const { shares, onRefused, say } = this.#modules;
    if (!shares.take(client, WEIGHT)) {
      onRefused();
      return say({ kind: 'forwarded', id, answer: { kind: 'overloaded' } });
    }
    const abort = new AbortController();
    this.#asked.set(id, abort);
    try {
      const answer = await this.#run({ ...call, client }, abort.signal);
      if (answer.kind === 'overloaded') onRefused();
      if (!abort.signal.aborted) say({ kind: 'forwarded', id, answer });
    } finally {
      shares.give(client, WEIGHT);
      this.#asked.delete(id);
    }
  }

  async #run({ request, blockHash, client }: ForwardedCall, signal: AbortSignal): Promise<ForwardedAnswer> {
    try {
      const { forward } = this.#modules;
      if (forward === undefined) throw new StateUnavailableError('what cannot be run here is not forwarded');
      return await forward(request, blockHash, { client, signal });
    } catch (error) {
      if (error instanceof OverloadedError) return { kind: 'overloaded' };
      const isWorded = error instanceof StateUnavailableError;
      return { kind: 'unavailable', reason: isWorded ? error.type.reason : 'no upstream ran the call' };
    }
  }

  /** Gives up a call. */
  cancel(id: number): void {
    this.#asked.get(id)?.abort();
  }

  /** Gives up all of them: the thread has ended. */
  cancelAll(): void {
    for (const abort of this.#asked.values()) abort.abort();
  }
}
