import type { PassedAnswer, PassOn } from '../chain/pass-on.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import type { PassedResult, WorkerEvent } from './messages.ts';
import { Waiting } from './waiting.ts';

/** Requests of one serving thread that others have to answer: the main thread alone asks upstreams. */
export class RemotePasses {
  readonly #say: (news: WorkerEvent) => void;
  readonly #waiting: Waiting<PassedAnswer>;

  constructor(timeoutMs: number, say: (news: WorkerEvent) => void) {
    this.#waiting = new Waiting(timeoutMs);
    this.#say = say;
  }

  /** For the methods. */
  readonly passOn: PassOn = (request, { client, signal }) =>
    this.#waiting.ask({
      send: (id) => this.#say({ kind: 'pass', id, request, client }),
      cancel: (id) => this.#say({ kind: 'cancelPass', id }),
      late: 'nobody answered',
      signal,
    });

  /** Takes what the main thread says. */
  hear({ id, answer }: { readonly id: number; readonly answer: PassedResult }): void {
    const waiting = this.#waiting.get(id);
    if (answer.kind === 'unavailable') waiting?.reject(new StateUnavailableError(answer.reason));
    else if (answer.kind === 'overloaded') waiting?.reject(new OverloadedError());
    else waiting?.resolve(answer);
  }
}
