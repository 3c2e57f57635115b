import { encodeCall, type UpstreamRpcError } from './json-rpc.ts';

/** What a call is for: following the chain, which goes first, or a request. */
export type CallLane = 'following' | 'requests';

/** One call on its way to an upstream. Settles once; later answers to it are ignored. */
export interface Call {
  readonly id: number;
  readonly method: string;
  readonly text: string;
  readonly lane: CallLane;
  /** An error that is an answer to it, as that answer. */
  readonly readError: ((error: UpstreamRpcError) => unknown) | undefined;
  readonly settled: boolean;
  /** Told when it settles while it waits for its turn. */
  onLeave: (() => void) | undefined;
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
    readonly lane: CallLane;
    readonly signal: AbortSignal | undefined;
    readonly readError?: Call['readError'];
  },
  settle: { resolve(result: unknown): void; reject(error: Error): void },
): Call {
  const { method, params, lane, signal } = request;
  let settled = false;
  const end = (then: () => void): void => {
    if (settled) return;
    settled = true;
    signal?.removeEventListener('abort', onAbort);
    call.onLeave?.();
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
    lane,
    readError: request.readError,
    get settled() {
      return settled;
    },
    onLeave: undefined,
    onAbandon: undefined,
    resolve: (result) => end(() => settle.resolve(result)),
    reject: (error) => end(() => settle.reject(error)),
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  return call;
}

/** The calls of one lane. */
class Waiting {
  /** In order of arrival; one that settles leaves at once, wherever it stands. */
  readonly calls = new Set<Call>();
  /** Calls to be sent together as they are: what a split or a refused batch left. */
  groups: (readonly Call[])[] = [];
}

/** Calls that wait for their turn, given out in groups that fit one request and are of one lane. */
export class CallQueue {
  readonly #limit: number;
  readonly #lanes: Readonly<Record<CallLane, Waiting>> = {
    following: new Waiting(),
    requests: new Waiting(),
  };

  /** `limit` is for each lane: requests cannot take the places of what follows the chain. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  isFull(lane: CallLane): boolean {
    return this.#lanes[lane].calls.size >= this.#limit;
  }

  push(call: Call): void {
    const { calls } = this.#lanes[call.lane];
    calls.add(call);
    call.onLeave = () => calls.delete(call);
  }

  /** Puts calls that were sent already in front again, `size` at a time. */
  regroup(calls: readonly Call[], size: number): void {
    for (let at = 0; at < calls.length; at += size) {
      const group = calls.slice(at, at + size);
      this.#lanes[group[0]?.lane ?? 'requests'].groups.push(group);
    }
  }

  /** The next calls of a lane that go together, never more than fit; none when nothing waits. */
  take(lane: CallLane, max: { readonly calls: number; readonly bytes: number }): readonly Call[] {
    const waiting = this.#lanes[lane];
    for (let group = waiting.groups.shift(); group !== undefined; group = waiting.groups.shift()) {
      const live = group.filter(({ settled }) => !settled);
      if (live.length > 0) return live;
    }
    const group: Call[] = [];
    let bytes = 2;
    for (const call of waiting.calls) {
      bytes += call.text.length + 1;
      if (group.length > 0 && (group.length >= max.calls || bytes > max.bytes)) break;
      group.push(call);
      waiting.calls.delete(call);
      call.onLeave = undefined;
    }
    return group;
  }

  /** Fails everything that waits. */
  rejectAll(error: Error): void {
    for (const waiting of Object.values(this.#lanes)) {
      const calls = [...waiting.groups.flat(), ...waiting.calls];
      waiting.groups = [];
      waiting.calls.clear();
      for (const call of calls) call.reject(error);
    }
  }
}
