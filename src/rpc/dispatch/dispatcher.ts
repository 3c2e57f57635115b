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
import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import type { Refusal } from '../../telemetry/refusal-counter.ts';
import type { Allowance } from '../limits/rates.ts';
import { ANY_POINT, type AtLeastOptions, AtLeastWaits, parseAtLeast } from './at-least.ts';
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
import { headMoved, isReorganised, mayBeReorganised, refresh } from './head-moved.ts';
import { inParallel } from './in-parallel.ts';
import { entryOf, refused } from './refused.ts';
import type { AnswerOrigin, RpcResponse } from './response.ts';
import { type Caller, type Message, type NamedRequest, type OnServed, Task } from './task.ts';
import { threadTurn } from './thread-turn.ts';

export interface DispatcherOptions extends AtLeastOptions {
  readonly settings: MethodSettings;
  readonly maxBatch: number;
  /** Values and names in one body. Default: 40,000. */
  readonly maxElements?: number;
  /** Of one response body, all entries of a batch together. */
  readonly maxResponseBytes: number;
  /** Methods that this listener answers with 403. */
  readonly forbidden: ReadonlySet<string>;
  /** The only methods that it serves; absent where that is all others. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Time to answer one request, all entries of a batch together. Default: 30,000. */
  readonly answerTimeoutMs?: number;
}

export interface DispatcherModules {
  readonly head: Pick<Head, 'snapshot' | 'refresh' | 'reached'>;
  readonly methods: ReadonlyMap<string, Method>;
  /** Has calls that enter native contracts run by an upstream; absent where they are refused. */
  readonly forward?: ForwardCall | undefined;
  /** Hears of failures that are not the client's; the client is told nothing of them. */
  readonly onFault?: (method: string, error: unknown, request: NamedRequest) => void;
  /** Hears of requests and calls that are turned away. */
  readonly onRefused?: (reason: Refusal) => void;
  /** Hears of every answered entry, and how long ago its request had arrived. */
  readonly onServed?: OnServed;
  /** Hears of every request that was worked on, once its answer is there. */
  readonly onAnswered?: ((task: Task, answer: RpcResponse) => void) | undefined;
}

/** What a request may cost. */
export interface Budget {
  /** What its client may use; absent where nobody counts. */
  readonly rate?: Allowance | undefined;
  /** The most that one request may cost now, in units. */
  readonly affordable?: number;
}

const MAX_METHOD_CHARS = 128;
const LONG_BODY_BYTES = 65_536;
/** What a body costs that was refused once it was parsed, beside one that is served. */
const UNREAD_FACTOR = 16;
/** How often a request that met a reorg is run, each time on a new snapshot. */
const MAX_RUNS = 3;
/** A request that has taken longer is not run again: with this, all its runs together are little more than one. */
const RERUN_WITHIN_MS = 2_000;
const ANSWER_TIMEOUT_MS = 30_000;
/** Entries of one batch that wait for something at the same time. */
const BATCH_CONCURRENCY = 8;
/** Entries of a batch that are each too large by themselves, and worked out in vain, before it counts as full. */
const MAX_TOO_LARGE_ALONE = 8;

/** JSON-RPC 2.0 over bytes: knows nothing of transports. */
export class Dispatcher {
  #options: DispatcherOptions;
  readonly #modules: DispatcherModules;
  #settings: GrantedSettings;
  readonly #waits: AtLeastWaits;

  constructor(options: DispatcherOptions, modules: DispatcherModules) {
    this.#options = options;
    this.#modules = modules;
    this.#settings = new GrantedSettings(options.settings);
    this.#waits = new AtLeastWaits(modules.head, options);
  }

  /** Goes by other options from now on. */
  change(options: DispatcherOptions): void {
    this.#options = options;
    this.#settings = new GrantedSettings(options.settings);
  }

  /** Answers one request body, if the client may still use what it costs. Never throws and never rejects. */
  handle(body: Buffer, caller: Caller, budget: Budget = {}): Awaitable<RpcResponse> {
    let task: Task;
    try {
      const atLeast = caller.atLeast === undefined ? ANY_POINT : parseAtLeast(caller.atLeast);
      const began = performance.now();
      task = new Task(readMessage(body, this.#options), caller, atLeast, began);
      threadTurn.note(began);
    } catch (error) {
      // It has cost its parsing, and has no calls to count.
      const rpcError = this.#unpaid(body.length * UNREAD_FACTOR, [], budget) ?? toRpcError(error);
      const { status = 200, retryAfter } = rpcError;
      const snapshot = this.#modules.head.snapshot();
      return { status, body: errorEntry('null', rpcError), snapshot, retryAfter };
    }
    task.rate = budget.rate;
    const unpaid = this.#unpaid(body.length, task.message, budget);
    if (unpaid !== undefined) return refused(task.message, unpaid, this.#modules.head.snapshot());
    // To have parsed a long body is enough for one turn.
    const isLater = threadTurn.isOver || body.length > LONG_BODY_BYTES;
    const response = isLater ? threadTurn.later(task, () => this.#start(task)) : this.#start(task);
    return response instanceof Promise ? this.#inTime(task, response) : this.#settle(task, response);
  }

  /** Takes what a request costs from what its client may use; the error if that is not enough, or more than we can do now. */
  #unpaid(bytes: number, message: Message, { rate, affordable = Infinity }: Budget): RpcError | undefined {
    if (rate === undefined && affordable === Infinity) return undefined;
    const { methods, head, onRefused } = this.#modules;
    const units = costOf(message, bytes, methods, head.snapshot().head.number);
    if (units > affordable) {
      onRefused?.('shed');
      return toRpcError(new MethodError({ code: 'OVERLOADED' }));
    }
    const seconds = rate?.take(units) ?? 0;
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
    this.#modules.onAnswered?.(task, answer);
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
    const { onRefused, head } = this.#modules;
    const end = await this.#waits.wait(task, snapshot);
    if (end === 'reached') return this.#start(task);
    onRefused?.(end === 'full' ? 'waiting' : 'not_reached');
    const failure =
      end === 'full' ? new MethodError({ code: 'OVERLOADED' }) : this.#waits.failure(task.atLeast);
    return refused(task.message, toRpcError(failure), head.snapshot());
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
    const { forbidden, only } = this.#options;
    const { methods, onServed } = this.#modules;
    try {
      if (forbidden.has(call.method)) {
        throw new RpcFailure({ code: 'METHOD_NOT_PUBLIC', method: call.method });
      }
      const by = only?.has(call.method) === false ? 'endpoint' : 'key';
      if (by === 'endpoint' || !isGranted(call.method, task.caller.principal)) {
        throw new RpcFailure({ code: 'METHOD_NOT_GRANTED', method: shorten(call.method), by });
      }
      const method = methods.get(call.method);
      if (method === undefined)
        throw new RpcFailure({ code: 'METHOD_NOT_FOUND', method: shorten(call.method) });
      const params = readParams(call.params);
      checkParamCount(method, params);
      const began = performance.now();
      const result = method.handle(params, context);
      const ended = threadTurn.note(began);
      if (result instanceof Promise) {
        return result.then(
          (json) => {
            context.snapshot.assertCurrent();
            onServed?.(call.method, undefined, secondsOf(task), task);
            return json;
          },
          (error: unknown) => this.#fail(call, task, snapshot, error),
        );
      }
      onServed?.(call.method, undefined, secondsOf(task, ended), task);
      return result;
    } catch (error) {
      return this.#fail(call, task, snapshot, error);
    }
  }

  #fail(call: Call, task: Task, snapshot: Snapshot, error: unknown): Awaitable<RpcError> {
    if (isReorganised(error)) throw error;
    if (!mayBeReorganised(error)) return this.#report(call, task, error);
    return headMoved(this.#modules.head, snapshot, error).then(() => {
      snapshot.assertCurrent();
      // The store may also have forgotten what the snapshot could still read: the next one can say so.
      if (this.#modules.head.snapshot() !== snapshot && mayRunAgain(task)) {
        throw new HeadError({ code: 'REORGANISED' }, undefined, { cause: error });
      }
      return this.#report(call, task, error);
    });
  }

  #report(call: Call, task: Task, error: unknown): RpcError {
    const { onFault, onServed, onRefused, methods } = this.#modules;
    if (!isExpected(error)) onFault?.(call.method, error, task);
    const refusal = refusalOf(error);
    if (refusal !== undefined) onRefused?.(refusal);
    const rpcError = toRpcError(error);
    const method = methods.has(call.method) ? call.method : 'unknown';
    task.errorCode ??= rpcError.code;
    onServed?.(method, rpcError.code, secondsOf(task), task);
    return rpcError;
  }
}

function secondsOf({ began }: Task, ended: number = performance.now()): number {
  return (ended - began) / 1_000;
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

function mayRunAgain({ runs, rerunUntil }: Task): boolean {
  return runs < MAX_RUNS && (rerunUntil === undefined || performance.now() < rerunUntil);
}
