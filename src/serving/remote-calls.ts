import type { CallResult, ForwardCall } from '../executor/interface.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import type { ForwardedAnswer, WorkerEvent } from './messages.ts';
import { Waiting } from './waiting.ts';

/** Calls of one serving thread that an upstream has to run: the main thread alone asks upstreams. */
export class RemoteCalls {
  readonly #say: (news: WorkerEvent) => void;
  readonly #waiting: Waiting<CallResult>;

  constructor(timeoutMs: number, say: (news: WorkerEvent) => void) {
    this.#waiting = new Waiting(timeoutMs);
    this.#say = say;
  }

  /** For the methods. */
  readonly forward: ForwardCall = (request, blockHash, { client, signal }) =>
    this.#waiting.ask({
      send: (id) => this.#say({ kind: 'forward', id, request, blockHash, client }),
      cancel: (id) => this.#say({ kind: 'cancelForward', id }),
      late: 'no upstream ran the call',
      signal,
    });

  /** Takes what the main thread says. */
  hear({ id, answer }: { readonly id: number; readonly answer: ForwardedAnswer }): void {
    const waiting = this.#waiting.get(id);
    if (answer.kind === 'unavailable') waiting?.reject(new StateUnavailableError(answer.reason));
    else if (answer.kind === 'overloaded') waiting?.reject(new OverloadedError());
    else waiting?.resolve(answer);
  }
}
