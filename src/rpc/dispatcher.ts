import { HeadError } from '../head/errors.ts';
import type { Head, Point } from '../head/head.ts';
import type { Snapshot } from '../head/snapshot.ts';
import { MethodError } from '../methods/errors.ts';
import {
  checkParamCount,
  type Method,
  type MethodContext,
  type MethodSettings,
  type RawJson,
} from '../methods/method.ts';
import { andThen } from '../primitives/awaitable.ts';
import { InvalidParamsError, StateUnavailableError } from '../primitives/errors.ts';
import type { Awaitable } from '../primitives/hex.ts';
import { ANY_POINT, AT_LEAST_HEADER, formatPoint, parseAtLeast } from './at-least.ts';
import { isExpected, type RpcError, RpcFailure, toRpcError } from './error-map.ts';
import {
  byteLength,
  type Call,
  errorEntry,
  joinBatch,
  type ResponseBody,
  readMessage,
  resultEntry,
} from './framing.ts';
import { inParallel } from './in-parallel.ts';

export interface DispatcherOptions {
  readonly settings: MethodSettings;
  readonly maxBatch: number;
  /** Of one response body, all entries of a batch together. */
  readonly maxResponseBytes: number;
  /** Methods that this listener answers with 403. */
  readonly forbidden: ReadonlySet<string>;
  /** How long a request may wait for the block that its client asks for at least; 0 is not at all. Default: 2,000. */
  readonly atLeastWaitMs?: number;
  /** Requests that may wait so at the same time; more are refused at once. Default: 256. */
  readonly maxAtLeastWaiting?: number;
}

export interface DispatcherModules {
  readonly head: Pick<Head, 'snapshot' | 'refresh' | 'reached'>;
  readonly methods: ReadonlyMap<string, Method>;
  /** Hears of failures that are not the client's; the client is told nothing of them. */
  readonly onFault?: (method: string, error: unknown) => void;
  /** Hears of every answered entry. */
  readonly onServed?: (method: string, code: number | undefined) => void;
}

/** The bytes that answer a request, and the HTTP status that goes with them; no body for notifications. */
export interface RpcResponse {
  readonly status: number;
  readonly body: ResponseBody | undefined;
  /** What the answer was read from, and no other; absent when it was refused before it got to a dispatcher. */
  readonly snapshot: Pick<Snapshot, 'head' | 'pending'> | undefined;
}

/** What a transport knows of a request beside its body. */
export interface Caller {
  /** Aborts when the client goes away; made only when somebody listens. */
  readonly signal: AbortSignal;
  /** The header `x-chain-at-least`, as it came. */
  readonly atLeast?: string | undefined;
}

type Message = ReturnType<typeof readMessage>;

/** A request on its way, through as many runs as it takes. */
interface Task {
  readonly message: Message;
  readonly caller: Caller;
  readonly atLeast: Point;
  /** Until when it waits for that point, in all its runs together. */
  waitUntil: number | undefined;
  /** After which it is not run again. */
  rerunUntil: number | undefined;
  runs: number;
}

const MAX_METHOD_CHARS = 128;
/** How often a request that met a reorganisation is run, each time on a new snapshot. */
const MAX_RUNS = 3;
/** A request that has taken longer is not run again: with this, all its runs together are little more than one. */
const RERUN_WITHIN_MS = 2_000;
const AT_LEAST_WAIT_MS = 2_000;
const MAX_AT_LEAST_WAITING = 256;
/** Entries of one batch that wait for something at the same time. */
const BATCH_CONCURRENCY = 8;

/** JSON-RPC 2.0 over bytes: knows nothing of transports. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #modules: DispatcherModules;
  /** Requests that wait for a block. */
  #waiting = 0;

  constructor(options: DispatcherOptions, modules: DispatcherModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Answers one request body. Never throws and never rejects. */
  handle(body: Buffer, caller: Caller): Awaitable<RpcResponse> {
    let task: Task;
    try {
      const atLeast = caller.atLeast === undefined ? ANY_POINT : parseAtLeast(caller.atLeast);
      const message = readMessage(body, this.#options.maxBatch);
      task = { message, caller, atLeast, waitUntil: undefined, rerunUntil: undefined, runs: 0 };
    } catch (error) {
      const rpcError = toRpcError(error);
      return {
        status: rpcError.status ?? 200,
        body: errorEntry('null', rpcError),
        snapshot: this.#modules.head.snapshot(),
      };
    }
    return this.#start(task);
  }

  /** Takes the one snapshot that a run of the request reads, once it knows of the block that the client asks for. */
  #start(task: Task): Awaitable<RpcResponse> {
    const snapshot = this.#modules.head.snapshot();
    return snapshot.knows(task.atLeast) ? this.#attempt(task, snapshot) : this.#wait(task, snapshot);
  }

  async #wait(task: Task, snapshot: Snapshot): Promise<RpcResponse> {
    const { atLeastWaitMs = AT_LEAST_WAIT_MS, maxAtLeastWaiting = MAX_AT_LEAST_WAITING } = this.#options;
    const { head } = this.#modules;
    if (this.#waiting >= maxAtLeastWaiting) {
      return refused(task.message, toRpcError(new MethodError({ code: 'OVERLOADED' })), snapshot);
    }
    const now = performance.now();
    task.waitUntil ??= now + atLeastWaitMs;
    this.#waiting++;
    const reached = await head.reached(task.atLeast, task.waitUntil - now, task.caller.signal).finally(() => {
      this.#waiting--;
    });
    if (reached) return this.#start(task);
    const last = head.snapshot();
    const failure = new RpcFailure({
      code: 'NOT_REACHED',
      header: AT_LEAST_HEADER,
      point: formatPoint(task.atLeast),
      head: last.head.number,
      milliseconds: atLeastWaitMs,
    });
    return refused(task.message, toRpcError(failure), last);
  }

  /** One request, one snapshot: when the chain changes under it, all of it runs again on the next one. */
  #attempt(task: Task, snapshot: Snapshot): Awaitable<RpcResponse> {
    task.runs++;
    try {
      const response = this.#answer(task, snapshot);
      if (!(response instanceof Promise)) return response;
      task.rerunUntil ??= performance.now() + RERUN_WITHIN_MS;
      return response.catch((error: unknown) => this.#again(task, snapshot, error));
    } catch (error) {
      return this.#again(task, snapshot, error);
    }
  }

  async #again(task: Task, snapshot: Snapshot, error: unknown): Promise<RpcResponse> {
    if (!isReorganised(error) || !mayRunAgain(task)) {
      return refused(task.message, toRpcError(error), snapshot);
    }
    await this.#refresh();
    return this.#start(task);
  }

  /** The store may have told its reader of a reorganisation before anybody has told the head. */
  #refresh(): Promise<void> {
    // A store that cannot be read fails the request by itself.
    return this.#modules.head.refresh().catch(() => undefined);
  }

  #answer(task: Task, snapshot: Snapshot): Awaitable<RpcResponse> {
    const { message } = task;
    return 'method' in message
      ? this.#answerCall(message, task, snapshot)
      : this.#answerBatch(message, task, snapshot);
  }

  #answerCall(call: Call, task: Task, snapshot: Snapshot): Awaitable<RpcResponse> {
    const { id } = call;
    if (id === undefined) return { status: 204, body: undefined, snapshot };
    return andThen(this.#run(call, task, snapshot), (outcome) =>
      isError(outcome)
        ? { status: outcome.status ?? 200, body: errorEntry(id, outcome), snapshot }
        : { status: 200, body: resultEntry(id, outcome), snapshot },
    );
  }

  async #answerBatch(
    calls: readonly (Call | RpcError)[],
    task: Task,
    snapshot: Snapshot,
  ): Promise<RpcResponse> {
    const { maxResponseBytes } = this.#options;
    const entries: (ResponseBody | undefined)[] = Array.from({ length: calls.length });
    let bytes = 2;
    const runEntry = async (index: number, call: Call | RpcError): Promise<void> => {
      if ('code' in call) {
        entries[index] = errorEntry('null', call);
        return;
      }
      if (call.id === undefined) return;
      const outcome =
        bytes > maxResponseBytes
          ? toRpcError(new RpcFailure({ code: 'RESPONSE_TOO_LARGE', maxBytes: maxResponseBytes }))
          : await this.#run(call, task, snapshot);
      let entry = isError(outcome) ? errorEntry(call.id, outcome) : resultEntry(call.id, outcome);
      if (bytes + byteLength(entry) > maxResponseBytes && !isError(outcome)) {
        const failure = new RpcFailure({ code: 'RESPONSE_TOO_LARGE', maxBytes: maxResponseBytes });
        entry = errorEntry(call.id, toRpcError(failure));
      }
      bytes += byteLength(entry) + 1;
      entries[index] = entry;
    };
    await inParallel(calls, BATCH_CONCURRENCY, runEntry);
    const body = joinBatch(entries);
    return { status: body === undefined ? 204 : 200, body, snapshot };
  }

  /** Runs one call; what goes wrong is a value, except a reorganisation, which concerns the whole request. */
  #run(call: Call, task: Task, snapshot: Snapshot): Awaitable<RawJson | RpcError> {
    const { settings, forbidden } = this.#options;
    const { methods, onServed } = this.#modules;
    try {
      if (forbidden.has(call.method)) {
        throw new RpcFailure({ code: 'METHOD_NOT_PUBLIC', method: call.method });
      }
      const method = methods.get(call.method);
      if (method === undefined)
        throw new RpcFailure({ code: 'METHOD_NOT_FOUND', method: shorten(call.method) });
      const params = readParams(call.params);
      checkParamCount(method, params);
      const result = method.handle(params, new CallContext(snapshot, settings, task.caller));
      if (result instanceof Promise) {
        return result.then(
          (json) => {
            snapshot.assertCurrent();
            onServed?.(call.method, undefined);
            return json;
          },
          (error: unknown) => this.#fail(call, task, snapshot, error),
        );
      }
      onServed?.(call.method, undefined);
      return result;
    } catch (error) {
      return this.#fail(call, task, snapshot, error);
    }
  }

  #fail(call: Call, task: Task, snapshot: Snapshot, error: unknown): Awaitable<RpcError> {
    if (isReorganised(error)) throw error;
    if (!mayBeReorganised(error)) return this.#report(call, error);
    return this.#refresh().then(() => {
      snapshot.assertCurrent();
      // The store may also have forgotten what the snapshot could still read: the next one can say so.
      if (this.#modules.head.snapshot() !== snapshot && mayRunAgain(task)) {
        throw new HeadError({ code: 'REORGANISED' }, undefined, { cause: error });
      }
      return this.#report(call, error);
    });
  }

  #report(call: Call, error: unknown): RpcError {
    const { onFault, onServed, methods } = this.#modules;
    if (!isExpected(error)) onFault?.(call.method, error);
    const rpcError = toRpcError(error);
    onServed?.(methods.has(call.method) ? call.method : 'unknown', rpcError.code);
    return rpcError;
  }
}

class CallContext implements MethodContext {
  readonly snapshot: Snapshot;
  readonly settings: MethodSettings;
  readonly #caller: Caller;

  constructor(snapshot: Snapshot, settings: MethodSettings, caller: Caller) {
    this.snapshot = snapshot;
    this.settings = settings;
    this.#caller = caller;
  }

  get signal(): AbortSignal {
    return this.#caller.signal;
  }
}

function readParams(params: unknown): readonly unknown[] {
  if (params === undefined || params === null) return [];
  if (!Array.isArray(params)) throw new InvalidParamsError('non-array args');
  return params;
}

function shorten(method: string): string {
  return method.length > MAX_METHOD_CHARS ? `${method.slice(0, MAX_METHOD_CHARS)}…` : method;
}

function isError(outcome: RawJson | RpcError): outcome is RpcError {
  return typeof outcome === 'object' && !Buffer.isBuffer(outcome);
}

function isReorganised(error: unknown): boolean {
  return error instanceof HeadError && error.type.code === 'REORGANISED';
}

function mayRunAgain({ runs, rerunUntil }: Task): boolean {
  return runs < MAX_RUNS && (rerunUntil === undefined || performance.now() < rerunUntil);
}

/** Blocks that were taken off the chain show themselves below as state that cannot be had, in several words. */
function mayBeReorganised(error: unknown): boolean {
  return error instanceof StateUnavailableError || !isExpected(error);
}

/** The same error for all of a request. */
function refused(message: Message, error: RpcError, snapshot: Snapshot): RpcResponse {
  const entryOf = (call: Call | RpcError): string | undefined => {
    if ('code' in call) return errorEntry('null', call);
    return call.id === undefined ? undefined : errorEntry(call.id, error);
  };
  const body = 'method' in message ? entryOf(message) : joinBatch(message.map(entryOf));
  return { status: body === undefined ? 204 : (error.status ?? 200), body, snapshot };
}
