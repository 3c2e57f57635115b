import { setImmediate } from 'node:timers/promises';
import { HeadError } from '../head/errors.ts';
import type { Head } from '../head/head.ts';
import type { Snapshot } from '../head/snapshot.ts';
import {
  checkParamCount,
  type Method,
  type MethodContext,
  type MethodSettings,
  type RawJson,
} from '../methods/method.ts';
import { andThen } from '../primitives/awaitable.ts';
import { InvalidParamsError } from '../primitives/errors.ts';
import type { Awaitable } from '../primitives/hex.ts';
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

export interface DispatcherOptions {
  readonly settings: MethodSettings;
  readonly maxBatch: number;
  /** Of one response body, all entries of a batch together. */
  readonly maxResponseBytes: number;
  /** Methods that this listener answers with 403. */
  readonly forbidden: ReadonlySet<string>;
}

export interface DispatcherModules {
  readonly head: Pick<Head, 'snapshot'>;
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
  /** What the answer was read from; absent when no chain was asked. */
  readonly snapshot: Snapshot | undefined;
}

/** Where the client's going away can be heard; made only when somebody listens. */
export interface Caller {
  readonly signal: AbortSignal;
}

const MAX_METHOD_CHARS = 128;
/** How often a request that met a reorganisation is run, each time on a new snapshot. */
const MAX_RUNS = 3;
/** Entries of one batch that wait for something at the same time. */
const BATCH_CONCURRENCY = 8;
/** How long one batch may hold the thread. */
const TURN_MS = 5;

/** JSON-RPC 2.0 over bytes: knows nothing of transports. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #modules: DispatcherModules;

  constructor(options: DispatcherOptions, modules: DispatcherModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Answers one request body. Never throws and never rejects. */
  handle(body: Buffer, caller: Caller): Awaitable<RpcResponse> {
    try {
      const message = readMessage(body, this.#options.maxBatch);
      return 'method' in message ? this.#handleSingle(message, caller) : this.#handleBatch(message, caller);
    } catch (error) {
      return fixed(toRpcError(error));
    }
  }

  #handleSingle(call: Call, caller: Caller): Awaitable<RpcResponse> {
    const { id } = call;
    if (id === undefined) return { status: 204, body: undefined, snapshot: undefined };
    return this.#onOneSnapshot((snapshot) =>
      andThen(this.#run(call, snapshot, caller), (outcome) => {
        if (isError(outcome)) {
          return { status: outcome.status ?? 200, body: errorEntry(id, outcome), snapshot };
        }
        return { status: 200, body: resultEntry(id, outcome), snapshot };
      }),
    );
  }

  #handleBatch(calls: readonly (Call | RpcError)[], caller: Caller): Awaitable<RpcResponse> {
    return this.#onOneSnapshot(async (snapshot) => {
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
            : await this.#run(call, snapshot, caller);
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
    });
  }

  /** Runs one call; what goes wrong is a value, except a reorganisation, which concerns the whole request. */
  #run(call: Call, snapshot: Snapshot, caller: Caller): Awaitable<RawJson | RpcError> {
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
      const result = method.handle(params, new CallContext(snapshot, settings, caller));
      if (result instanceof Promise) {
        return result.then(
          (json) => {
            snapshot.assertCurrent();
            onServed?.(call.method, undefined);
            return json;
          },
          (error: unknown) => this.#fail(call, error),
        );
      }
      onServed?.(call.method, undefined);
      return result;
    } catch (error) {
      return this.#fail(call, error);
    }
  }

  #fail(call: Call, error: unknown): RpcError {
    if (isReorganised(error)) throw error;
    const { onFault, onServed, methods } = this.#modules;
    if (!isExpected(error)) onFault?.(call.method, error);
    const rpcError = toRpcError(error);
    onServed?.(methods.has(call.method) ? call.method : 'unknown', rpcError.code);
    return rpcError;
  }

  /** One request, one snapshot: when the chain changes under it, all of it runs again on the next one. */
  #onOneSnapshot(
    run: (snapshot: Snapshot) => Awaitable<RpcResponse>,
    runs: number = MAX_RUNS,
  ): Awaitable<RpcResponse> {
    const again = (error: unknown): Awaitable<RpcResponse> => {
      if (!isReorganised(error) || runs <= 1) return fixed(toRpcError(error));
      return this.#onOneSnapshot(run, runs - 1);
    };
    try {
      const response = run(this.#modules.head.snapshot());
      return response instanceof Promise ? response.catch(again) : response;
    } catch (error) {
      return again(error);
    }
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

function fixed(error: RpcError): RpcResponse {
  return { status: error.status ?? 200, body: errorEntry('null', error), snapshot: undefined };
}

/** Runs all items, some at a time, and lets the rest of the process have its turn between them. */
async function inParallel<T>(
  items: readonly T[],
  concurrency: number,
  run: (index: number, item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let turnEnds = performance.now() + TURN_MS;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      const item = items[index];
      try {
        if (item !== undefined) await run(index, item);
      } catch (error) {
        // All of it fails: the other lanes need not start anything more.
        next = items.length;
        throw error;
      }
      // Entries that are answered at once never leave this turn of the event loop by themselves.
      if (performance.now() > turnEnds) {
        await setImmediate();
        turnEnds = performance.now() + TURN_MS;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane));
}
