import { setTimeout as delay } from 'node:timers/promises';
import { MethodError } from '../../methods/errors.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { Shares } from '../../primitives/shares.ts';
import type { Refusal } from '../../telemetry/refusal-counter.ts';
import type { Principal } from '../auth/grant.ts';
import type { Rates } from '../limits/rates.ts';
import { affordableUnits, type ThreadLoad } from '../limits/thread-load.ts';
import type { Dispatcher } from './dispatcher.ts';
import { RpcFailure, toRpcError } from './error-map.ts';
import { errorEntry } from './framing.ts';
import type { RpcResponse } from './response.ts';
import type { Caller } from './task.ts';

export interface AnswererOptions {
  /** Requests of all connections being worked on at the same time, of which one client may have half. */
  readonly maxInFlight: number;
}

export interface AnswererModules {
  readonly dispatcher: Pick<Dispatcher, 'handle'>;
  /** What clients may use; absent where nobody counts. */
  readonly rates?: Rates | undefined;
  /** How hard the thread is pressed; absent where nobody looks. */
  readonly load?: Pick<ThreadLoad, 'pressure'> | undefined;
  /** Hears of what should never happen. */
  readonly onFault?: (error: unknown) => void;
  /** Hears of whatever is turned away before it gets to the dispatcher. */
  readonly onRefused?: (reason: Refusal) => void;
}

/**
 * How long somebody who is turned away waits to hear so. Whoever asks again at once, over and over, would else take as much of a thread
 * as answers do; whoever goes by `Retry-After` does not notice.
 */
const REFUSAL_PAUSE_MS = 100;
/** What a WebSocket connection costs, in units: as much as some reads. */
const UPGRADE_UNITS = 10;

/** What a listener's fronts share: the limit on work under way, and that the listener is closing. */
export class Answerer {
  readonly #options: AnswererOptions;
  readonly #modules: AnswererModules;
  /** Requests being worked on, by client. */
  readonly #places: Shares;
  #draining = false;

  constructor(options: AnswererOptions, modules: AnswererModules) {
    this.#options = options;
    this.#modules = modules;
    this.#places = Shares.ofPlaces(options.maxInFlight);
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
    const client = caller.address ?? caller.client;
    const places = this.#places;
    if (places.taken > 0 && !places.hasRoom(client, 1)) {
      this.#modules.onRefused?.('in_flight');
      return turnAway(new MethodError({ code: 'OVERLOADED' }));
    }
    const { dispatcher, rates, load } = this.#modules;
    const pressure = Math.max(places.taken / this.#options.maxInFlight, load?.pressure ?? 0);
    const answer = dispatcher.handle(body, caller, {
      rate: rates?.of(client, caller.principal),
      affordable: affordableUnits(pressure),
    });
    if (answer instanceof Promise) return this.#counted(answer, client);
    return answer.status === 429 || answer.status === 503 ? paused(answer) : answer;
  }

  /** The answer to whoever shows no key or token that is valid. */
  unauthorized(): Promise<RpcResponse> {
    this.#modules.onRefused?.('unauthorized');
    return turnAway(new RpcFailure({ code: 'UNAUTHORIZED' }));
  }

  /** Why a client may not connect by WebSocket now; undefined when it may. */
  refuseUpgrade(client: string, principal: Principal | undefined): Promise<RpcResponse> | undefined {
    const { rates, onRefused } = this.#modules;
    const seconds = rates?.of(client, principal)?.take(UPGRADE_UNITS) ?? 0;
    if (seconds === 0) return undefined;
    onRefused?.('rate');
    return turnAway(new RpcFailure({ code: 'RATE_LIMITED', seconds }));
  }

  async #counted(answer: Promise<RpcResponse>, client: string): Promise<RpcResponse | undefined> {
    this.#places.take(client, 1);
    try {
      return await answer;
    } catch (error) {
      this.#modules.onFault?.(error);
      return undefined;
    } finally {
      this.#places.give(client, 1);
    }
  }
}

/** What somebody hears whose request is not looked at. */
function turnAway(failure: MethodError | RpcFailure): Promise<RpcResponse> {
  const error = toRpcError(failure);
  const { status = 200, retryAfter } = error;
  return paused({ status, body: errorEntry('null', error), snapshot: undefined, retryAfter });
}

/** An answer to somebody who is turned away, after a while. */
function paused(answer: RpcResponse): Promise<RpcResponse> {
  return delay(REFUSAL_PAUSE_MS, answer);
}
