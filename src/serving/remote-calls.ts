import type { CallResult, ForwardCall } from '../executor/interface.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import type { ForwardedAnswer, WorkerEvent } from './messages.ts';

interface Waiting {
  readonly resolve: (result: CallResult) => void;
  readonly reject: (error: Error) => void;
}

/** Calls of one serving thread that an upstream has to run: the main thread alone asks upstreams. */
export class RemoteCalls {
  readonly #timeoutMs: number;
  readonly #say: (news: WorkerEvent) => void;
  readonly #asked = new Map<number, Waiting>();
  #nextId = 1;

  constructor(timeoutMs: number, say: (news: WorkerEvent) => void) {
    this.#timeoutMs = timeoutMs;
    this.#say = say;
  }

  /** For as long as a request can wait and somebody waits for it. */
  readonly forward: ForwardCall = (request, blockHash, { client, signal }) => {
    if (signal.aborted) return Promise.reject(new StateUnavailableError('nobody waits for it'));
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<CallResult>();
    const giveUp = (reason: string): void => {
      reject(new StateUnavailableError(reason));
      this.#say({ kind: 'cancelForward', id });
    };
    const onAbort = (): void => giveUp('nobody waits for it');
    const late = `no upstream ran the call within ${this.#timeoutMs} ms`;
    const timer = setTimeout(() => giveUp(late), this.#timeoutMs);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#asked.set(id, { resolve, reject });
    this.#say({ kind: 'forward', id, request, blockHash, client });
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      this.#asked.delete(id);
    });
  };

  /** Takes what the main thread says. */
  hear({ id, answer }: { readonly id: number; readonly answer: ForwardedAnswer }): void {
    const waiting = this.#asked.get(id);
    if (answer.kind === 'unavailable') waiting?.reject(new StateUnavailableError(answer.reason));
    else if (answer.kind === 'overloaded') waiting?.reject(new OverloadedError());
    else waiting?.resolve(answer);
  }
}
