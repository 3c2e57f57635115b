import { MethodError } from '../../methods/errors.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import type { Refusal } from '../../telemetry/refusal-counter.ts';
import type { Rates } from '../limits/rates.ts';
import type { Dispatcher } from './dispatcher.ts';
import { RpcFailure, toRpcError } from './error-map.ts';
import { errorEntry } from './framing.ts';
import type { RpcResponse } from './response.ts';
import type { Caller } from './task.ts';

export interface AnswererOptions {
  /** Requests of all connections being worked on at the same time. */
  readonly maxInFlight: number;
}

export interface AnswererModules {
  readonly dispatcher: Pick<Dispatcher, 'handle'>;
  /** What clients may use; absent where nobody counts. */
  readonly rates?: Rates | undefined;
  /** Hears of what should never happen. */
  readonly onFault?: (error: unknown) => void;
  /** Hears of whatever is turned away before it gets to the dispatcher. */
  readonly onRefused?: (reason: Refusal) => void;
}

/** What a listener's fronts share: the limit on work under way, and that the listener is closing. */
export class Answerer {
  readonly #options: AnswererOptions;
  readonly #modules: AnswererModules;
  #inFlight = 0;
  #draining = false;

  constructor(options: AnswererOptions, modules: AnswererModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** From here on every answer is the last of its connection. */
  drain(): void {
    this.#draining = true;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Answers a body; `undefined` when there is nothing to say but to cut the connection. Never rejects. */
  answer(body: Buffer, caller: Caller): Awaitable<RpcResponse | undefined> {
    if (this.#inFlight >= this.#options.maxInFlight) {
      this.#modules.onRefused?.('in_flight');
      const error = toRpcError(new MethodError({ code: 'OVERLOADED' }));
      return { status: 503, body: errorEntry('null', error), snapshot: undefined };
    }
    const { dispatcher, rates } = this.#modules;
    const answer = dispatcher.handle(
      body,
      caller,
      rates?.of(caller.address ?? caller.client, caller.principal),
    );
    return answer instanceof Promise ? this.#counted(answer) : answer;
  }

  /** The answer to whoever shows no key or token that is valid. */
  unauthorized(): RpcResponse {
    this.#modules.onRefused?.('unauthorized');
    const error = toRpcError(new RpcFailure({ code: 'UNAUTHORIZED' }));
    return { status: 401, body: errorEntry('null', error), snapshot: undefined };
  }

  async #counted(answer: Promise<RpcResponse>): Promise<RpcResponse | undefined> {
    this.#inFlight++;
    try {
      return await answer;
    } catch (error) {
      this.#modules.onFault?.(error);
      return undefined;
    } finally {
      this.#inFlight--;
    }
  }
}
