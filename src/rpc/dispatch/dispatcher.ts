import type { ForwardCall } from '../../executor/interface.ts';
import { HeadError } from '../../head/errors.ts';
import type { Head } from '../../head/head.ts';
import type { Snapshot } from '../../head/snapshot.ts';
import { MethodError } from '../../methods/errors.ts';
import {
  checkParamCount,
  type Method,
  type MethodContext,
  type MethodSettings,
  type RawJson,
} from '../../methods/method.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { InvalidParamsError, StateUnavailableError } from '../../primitives/errors.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import type { Refusal } from '../../telemetry/refusal-counter.ts';
import type { Allowance } from '../limits/rates.ts';
import { ANY_POINT, AT_LEAST_HEADER, formatPoint, parseAtLeast } from './at-least.ts';
import { CallContext } from './call-context.ts';
import { costOf } from './cost.ts';
import { isExpected, type RpcError, RpcFailure, refusalOf, toRpcError } from './error-map.ts';
import {
  byteLength,
  type Call,
  discard,
  errorEntry,
  isWithin,
  joinBatch,
  type ResponseBody,
  readMessage,
  resultEntry,
} from './framing.ts';
import { GrantedSettings, isGranted } from './granted-settings.ts';
import { headMoved, refresh } from './head-moved.ts';
import { inParallel } from './in-parallel.ts';
import { entryOf, refused } from './refused.ts';
import type { AnswerOrigin, RpcResponse } from './response.ts';
import { type Caller, type Message, Task } from './task.ts';
import { threadTurn } from './thread-turn.ts';

export interface DispatcherOptions {
  readonly settings: MethodSettings;
  readonly maxBatch: number;
  /** Values and names in one body. Default: 40,000. */
  readonly maxElements?: number;
  /** Of one response body, all entries of a batch together. */
  readonly maxResponseBytes: number;
  /** Methods that this listener answers with 403. */
  readonly forbidden: ReadonlySet<string>;
  /** Time to answer one request, all entries of a batch together. Default: 30,000. */
  readonly answerTimeoutMs?: number;
  /** How long a request may wait for the block that its client asks for at least; 0 is not at all. Default: 2,000. */
  readonly atLeastWaitMs?: number;
  /** Requests that may wait so at the same time; more are refused at once. Default: 256. */
  readonly maxAtLeastWaiting?: number;
}

export interface DispatcherModules {
  readonly head: Pick<Head, 'snapshot' | 'refresh' | 'reached'>;
  readonly methods: ReadonlyMap<string, Method>;
  /** Has calls that enter native contracts run by an upstream; absent where they are refused. */
  readonly forward?: ForwardCall | undefined;
  /** Hears of failures that are not the client's; the client is told nothing of them. */
  readonly onFault?: (method: string, error: unknown) => void;
  /** Hears of requests and calls that are turned away. */
  readonly onRefused?: (reason: Refusal) => void;
  /** Hears of every answered entry. */
  readonly onServed?: (method: string, code: number | undefined) => void;
}

const MAX_METHOD_CHARS = 128;
const LONG_BODY_BYTES = 65_536;
/** How often a request that met a reorg is run, each time on a new snapshot. */
const MAX_RUNS = 3;
/** A request that has taken longer is not run again: with this, all its runs together are little more than one. */
const RERUN_WITHIN_MS = 2_000;
const ANSWER_TIMEOUT_MS = 30_000;
const AT_LEAST_WAIT_MS = 2_000;
const MAX_AT_LEAST_WAITING = 256;
/** Entries of one batch that wait for something at the same time. */
const BATCH_CONCURRENCY = 8;
/** Entries of a batch that are each too large by themselves, and worked out in vain, before it counts as full. */
const MAX_TOO_LARGE_ALONE = 8;

/** JSON-RPC 2.0 over bytes: knows nothing of transports. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #modules: DispatcherModules;
  readonly #settings: GrantedSettings;
  /** Requests that wait for a block. */
  #waiting = 0;

  constructor(options: DispatcherOptions, modules: DispatcherModules) {
    this.#options = options;
    this.#modules = modules;
    this.#settings = new GrantedSettings(options.settings);
  }

  /** Answers one request body, if the client may still use what it costs. Never throws and never rejects. */
  handle(body: Buffer, caller: Caller, allowance?: Allowance): Awaitable<RpcResponse> {
    let task: Task;
    try {
      const atLeast = caller.atLeast === undefined ? ANY_POINT : parseAtLeast(caller.atLeast);
      const began = performance.now();
      task = new Task(readMessage(body, this.#options), caller, atLeast);
      threadTurn.note(began);
    } catch (error) {
      const rpcError = this.#unpaid(body.length, [], allowance) ?? toRpcError(error);
      const { status = 200, retryAfter } = rpcError;
      const snapshot = this.#modules.head.snapshot();
      return { status, body: errorEntry('null', rpcError), snapshot, retryAfter };
    }
    const unpaid = this.#unpaid(body.length, task.message, allowance);
    if (unpaid !== undefined) return refused(task.message, unpaid, this.#modules.head.snapshot());
    // To have parsed a long body is enough for one turn.
    const isLater = threadTurn.isOver || body.length > LONG_BODY_BYTES;
    const response = isLater ? threadTurn.later(task, () => this.#start(task)) : this.#start(task);
    return response instanceof Promise ? this.#inTime(task, response) : this.#settle(task, response);
  }

  /** Takes what a request costs from what its client may use; the error if that is not enough. */
  #unpaid(bytes: number, message: Message, allowance: Allowance | undefined): RpcError | undefined {
    if (allowance === undefined) return undefined;
    const { methods, head, onRefused } = this.#modules;
    const seconds = allowance.take(costOf(message, bytes, methods, head.snapshot().head.number));
    if (seconds === 0) return undefined;
    onRefused?.('rate');
    return toRpcError(new RpcFailure({ code: 'RATE_LIMITED', seconds }));
  }

  /** The answer, or that it took too long. What then still works on it hears that it can stop. */
  async #inTime(task: Task, response: Promise<RpcResponse>): Promise<RpcResponse> {
    const { answerTimeoutMs = ANSWER_TIMEOUT_MS } = this.#options;
    const { promise, resolve } = Promise.withResolvers<RpcResponse>();
    const timer = setTimeout(() => {
      const failure = new MethodError({
        code: 'TIME_LIMIT',
        what: 'request',
        milliseconds: answerTimeoutMs,
      });
      resolve(refused(task.message, toRpcError(failure), this.#modules.head.snapshot()));
    }, answerTimeoutMs);
    try {
      return this.#settle(task, await Promise.race([response, promise]));
    } finally {
      clearTimeout(timer);
      task.end();
    }
  }

  #settle(task: Task, response: RpcResponse): RpcResponse {
    const answer = this.#fit(task, response);
    task.settle(answer.answered ?? []);
    return answer;
  }

  /** Every answer passes here: none is larger than may be sent. */
  #fit({ message }: Task, response: RpcResponse): RpcResponse {
    const { maxResponseBytes } = this.#options;
    const { body, snapshot } = response;
    if (body === undefined || isWithin(body, maxResponseBytes)) return response;
    discard(body);
    const error = toRpcError(new RpcFailure({ code: 'RESPONSE_TOO_LARGE', maxBytes: maxResponseBytes }));
    const named = 'method' in message ? entryOf(message, error) : undefined;
    const fits = named !== undefined && isWithin(named, maxResponseBytes);
    return { status: 200, body: fits ? named : errorEntry('null', error), snapshot };
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
      this.#modules.onRefused?.('waiting');
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
    this.#modules.onRefused?.('not_reached');
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
      snapshot.hold();
      return response.then(
        (answer) => {
          snapshot.release();
          return answer;
        },
        (error: unknown) => {
          snapshot.release();
          return this.#again(task, snapshot, error);
        },
      );
    } catch (error) {
      return this.#again(task, snapshot, error);
    }
  }

  async #again(task: Task, snapshot: Snapshot, error: unknown): Promise<RpcResponse> {
    if (!isReorganised(error) || !mayRunAgain(task)) {
      return refused(task.message, toRpcError(error), snapshot);
    }
    task.discard();
    await refresh(this.#modules.head);
    return this.#start(task);
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
    const settings = this.#settings.of(task.caller.principal);
    const context = new CallContext(snapshot, settings, task, this.#modules.forward);
    return andThen(this.#run(call, context, task), (outcome) => {
      const origin = originOf(context.snapshot, context.isForwarded);
      if (isError(outcome))
        return { status: outcome.status ?? 200, body: errorEntry(id, outcome), snapshot: origin };
      return { status: 200, body: resultEntry(id, outcome), snapshot: origin, answered: [context] };
    });
  }

  async #answerBatch(
    calls: readonly (Call | RpcError)[],
    task: Task,
    snapshot: Snapshot,
  ): Promise<RpcResponse> {
    const { maxResponseBytes } = this.#options;
    const settings = this.#settings.of(task.caller.principal);
    const tooLarge = toRpcError(new RpcFailure({ code: 'RESPONSE_TOO_LARGE', maxBytes: maxResponseBytes }));
    const answered: MethodContext[] = [];
    // Each begins as refused for its size, and gets its answer where that fits.
    const entries: (ResponseBody | undefined)[] = calls.map((call) => entryOf(call, tooLarge));
    let bytes = 2;
    for (const entry of entries) bytes += entry === undefined ? 0 : byteLength(entry) + 1;
    let isFull = bytes > maxResponseBytes;
    let tooLargeAlone = 0;
    let isForwarded = false;
    const runEntry = async (index: number, call: Call | RpcError): Promise<void> => {
      // Once the room is used up, nothing more is worked out in order to be thrown away.
      if (isFull || 'code' in call || call.id === undefined) return;
      const context = new CallContext(snapshot, settings, task, this.#modules.forward);
      const run = (): Awaitable<RawJson | RpcError> => this.#run(call, context, task);
      const outcome = await (threadTurn.isOver ? threadTurn.later(task, run) : run());
      isForwarded ||= context.isForwarded;
      const entry = isError(outcome) ? errorEntry(call.id, outcome) : resultEntry(call.id, outcome);
      const more = byteLength(entry) - byteLength(entries[index] ?? '');
      if (bytes + more > maxResponseBytes) {
        // What would be too large by itself says nothing about the room for others.
        isFull ||= byteLength(entry) <= maxResponseBytes || ++tooLargeAlone >= MAX_TOO_LARGE_ALONE;
        return discard(entry);
      }
      if (!isError(outcome)) answered.push(context);
      bytes += more;
      entries[index] = entry;
    };
    await inParallel(calls, BATCH_CONCURRENCY, runEntry);
    const body = joinBatch(entries);
    const origin = originOf(snapshot, isForwarded);
    return { status: body === undefined ? 204 : 200, body, snapshot: origin, answered };
  }

  /** Runs one call; what goes wrong is a value, except a reorg, which concerns the whole request. */
  #run(call: Call, context: CallContext, task: Task): Awaitable<RawJson | RpcError> {
    const { snapshot } = context;
    const { forbidden } = this.#options;
    const { methods, onServed } = this.#modules;
    try {
      if (forbidden.has(call.method)) {
        throw new RpcFailure({ code: 'METHOD_NOT_PUBLIC', method: call.method });
      }
      if (!isGranted(call.method, task.caller.principal)) {
        throw new RpcFailure({ code: 'METHOD_NOT_GRANTED', method: shorten(call.method) });
      }
      const method = methods.get(call.method);
      if (method === undefined)
        throw new RpcFailure({ code: 'METHOD_NOT_FOUND', method: shorten(call.method) });
      const params = readParams(call.params);
      checkParamCount(method, params);
      const began = performance.now();
      const result = method.handle(params, context);
      threadTurn.note(began);
      if (result instanceof Promise) {
        return result.then(
          (json) => {
            context.snapshot.assertCurrent();
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
    return headMoved(this.#modules.head, snapshot, error).then(() => {
      snapshot.assertCurrent();
      // The store may also have forgotten what the snapshot could still read: the next one can say so.
      if (this.#modules.head.snapshot() !== snapshot && mayRunAgain(task)) {
        throw new HeadError({ code: 'REORGANISED' }, undefined, { cause: error });
      }
      return this.#report(call, error);
    });
  }

  #report(call: Call, error: unknown): RpcError {
    const { onFault, onServed, onRefused, methods } = this.#modules;
    if (!isExpected(error)) onFault?.(call.method, error);
    const refusal = refusalOf(error);
    if (refusal !== undefined) onRefused?.(refusal);
    const rpcError = toRpcError(error);
    onServed?.(methods.has(call.method) ? call.method : 'unknown', rpcError.code);
    return rpcError;
  }
}

function originOf(snapshot: Snapshot, isForwarded: boolean): AnswerOrigin {
  return isForwarded ? { head: snapshot.head, pending: snapshot.pending, source: 'upstream' } : snapshot;
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
