import { encodeCall } from './json-rpc.ts';

/** One call on its way to an upstream. Settles once; later answers to it are ignored. */
export interface Call {
  readonly id: number;
  readonly method: string;
  readonly text: string;
  readonly settled: boolean;
  /** Told when the caller gives up after the call was sent. */
  onAbandon: (() => void) | undefined;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Makes a call that is rejected with the signal's reason when it aborts. */
export function createCall(
  id: number,
  request: {
    readonly method: string;
    readonly params: readonly unknown[];
    readonly signal: AbortSignal | undefined;
  },
  settle: { resolve(result: unknown): void; reject(error: Error): void },
): Call {
  const { method, params, signal } = request;
  let settled = false;
  const end = (then: () => void): void => {
    if (settled) return;
    settled = true;
    signal?.removeEventListener('abort', onAbort);
    then();
  };
  const onAbort = (): void => {
    end(() => settle.reject(signal?.reason as Error));
    call.onAbandon?.();
  };
  const call: Call = {
    id,
    method,
    text: encodeCall(id, method, params),
    get settled() {
      return settled;
    },
    onAbandon: undefined,
    resolve: (result) => end(() => settle.resolve(result)),
    reject: (error) => end(() => settle.reject(error)),
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  return call;
}

/** Calls that wait for their turn, given out in groups that fit one request. */
export class CallQueue {
  readonly #limit: number;
  #waiting: Call[] = [];
  /** Calls to be sent together as they are: what a split or a refused batch left. */
  #groups: (readonly Call[])[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get full(): boolean {
    if (this.#waiting.length < this.#limit) return false;
    // Only now: calls that were given up are dropped when their turn comes, or when they are in the way.
    this.#waiting = this.#waiting.filter(({ settled }) => !settled);
    return this.#waiting.length >= this.#limit;
  }

  push(call: Call): void {
    this.#waiting.push(call);
  }

  /** Puts calls that were sent already in front again, `size` at a time. */
  regroup(calls: readonly Call[], size: number): void {
    for (let at = 0; at < calls.length; at += size) this.#groups.push(calls.slice(at, at + size));
  }

  /** The next calls that go together, never more than fit; none when nothing waits. */
  take(max: { readonly calls: number; readonly bytes: number }): readonly Call[] {
    for (let group = this.#groups.shift(); group !== undefined; group = this.#groups.shift()) {
      const live = group.filter(({ settled }) => !settled);
      if (live.length > 0) return live;
    }
    const group: Call[] = [];
    let bytes = 2;
    let taken = 0;
    for (const call of this.#waiting) {
      if (!call.settled) {
        bytes += call.text.length + 1;
        if (group.length > 0 && (group.length >= max.calls || bytes > max.bytes)) break;
        group.push(call);
      }
      taken += 1;
    }
    this.#waiting.splice(0, taken);
    return group;
  }

  /** Fails everything that waits. */
  rejectAll(error: Error): void {
    const calls = [...this.#groups.flat(), ...this.#waiting];
    this.#groups = [];
    this.#waiting = [];
    for (const call of calls) call.reject(error);
  }
}
