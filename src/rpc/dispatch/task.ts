import { randomBytes } from 'node:crypto';
import type { Point } from '../../head/head.ts';
import type { LoadBudget } from '../../primitives/load-budget.ts';
import type { Principal } from '../auth/grant.ts';
import type { Allowance } from '../limits/rates.ts';
import type { readMessage } from './framing.ts';

export type Message = ReturnType<typeof readMessage>;

/** What a transport knows of a request beside its body. */
export interface Caller {
  /** Aborts when the client goes away; made only when somebody listens. */
  readonly signal: AbortSignal;
  /** Who asks: the remote address, or that which trusted proxies name, or one WebSocket connection. Requests of one client share what it may use. */
  readonly client: string;
  /** The address of a client that is one connection. */
  readonly address?: string;
  /** Who that is by a key or token; absent where nobody needs one. */
  readonly principal?: Principal | undefined;
  /** The connection, if it has several requests under way: they take turns with those of others. */
  readonly connection?: object;
  /** The header `x-chain-at-least`, as it came. */
  readonly atLeast?: string | undefined;
  /** What the client calls the request, if it has a name for it. */
  readonly requestId?: string | undefined;
  /** The header `traceparent`, as it came; read where requests are traced. */
  readonly traceparent?: string | undefined;
  /** What the request does to the subscriptions of its connection, where it can have any. */
  readonly session?: object | undefined;
}

/** A request as the log names it; the name is made when somebody asks for it. */
export interface NamedRequest {
  readonly requestId: string;
}

/** What hears of an answered entry: its method if it is known, its error code, and how long ago the request had arrived. */
export type OnServed = (
  method: string,
  code: number | undefined,
  seconds: number,
  request: NamedRequest,
) => void;

/** A request on its way, through as many runs as it takes. */
export class Task implements NamedRequest {
  readonly message: Message;
  readonly caller: Caller;
  readonly atLeast: Point;
  /** When all of it had arrived. */
  readonly began: number;
  /** Until when it waits for that point, in all its runs together. */
  waitUntil: number | undefined;
  /** After which it is not run again. */
  rerunUntil: number | undefined;
  /** What it may have loaded, in all its runs together; made when something is. */
  budget: LoadBudget | undefined;
  /** The first error of its calls. */
  errorCode: number | undefined;
  readonly traceparent: string | undefined;
  /** What its client may use; absent where nobody counts. */
  rate: Allowance | undefined;
  runs = 0;
  #abort: AbortController | undefined;
  #hasEnded = false;
  #isSettled = false;
  #requestId: string | undefined;
  #effects: { readonly call: object; readonly effect: (isAnswered: boolean) => void }[] = [];

  constructor(message: Message, caller: Caller, atLeast: Point, began: number) {
    this.message = message;
    this.caller = caller;
    this.atLeast = atLeast;
    this.began = began;
    // A connection has its next request, with another name, while work on this one may still end.
    this.#requestId = caller.requestId;
    this.traceparent = caller.traceparent;
  }

  /** Who takes turns with others: all connections of an address. */
  get client(): string {
    return this.caller.address ?? this.caller.client;
  }

  /** The name of the request in the log: the client's, or one that is made when there is a line to write. */
  get requestId(): string {
    this.#requestId ??= randomBytes(8).toString('hex');
    return this.#requestId;
  }

  /** The methods of its calls; one that is not known has no name. */
  methods(known: { has(name: string): boolean }): readonly string[] {
    const calls = 'method' in this.message ? [this.message] : this.message;
    return calls.map((call) => ('method' in call && known.has(call.method) ? call.method : 'unknown'));
  }

  get connection(): object {
    return this.caller.connection ?? this;
  }

  /** Whether nobody waits for it any more. Unlike `signal`, it makes nothing for this one request. */
  get isOver(): boolean {
    return this.#hasEnded || this.caller.signal.aborted;
  }

  /** Aborts when the client goes away, and when the request has ended in any other way; made when somebody listens. */
  get signal(): AbortSignal {
    if (this.#abort !== undefined) return this.#abort.signal;
    const abort = new AbortController();
    this.#abort = abort;
    const { signal } = this.caller;
    if (this.#hasEnded || signal.aborted) abort.abort();
    else signal.addEventListener('abort', this.#onGone, { once: true });
    return abort.signal;
  }

  /** Has an effect know whether the answer has the result of a call. */
  whenSettled(call: object, effect: (isAnswered: boolean) => void): void {
    // What still works on a request that is out of time does so for nobody.
    if (this.#isSettled) effect(false);
    else this.#effects.push({ call, effect });
  }

  /** What was worked out so far is not part of any answer. The last is undone first. */
  discard(): void {
    for (const { effect } of this.#effects.splice(0).reverse()) effect(false);
  }

  /** The answer has the results of these calls, and no others. */
  settle(answered: readonly object[]): void {
    this.#isSettled = true;
    if (this.#effects.length === 0) return;
    const has = new Set(this.caller.signal.aborted ? [] : answered);
    for (const { call, effect } of this.#effects.splice(0).reverse()) effect(has.has(call));
  }

  /** It is answered, or out of time: whatever still works on it can stop. */
  end(): void {
    this.#hasEnded = true;
    if (this.#abort === undefined) return;
    // A connection outlives its requests by far.
    this.caller.signal.removeEventListener('abort', this.#onGone);
    this.#abort.abort();
  }

  readonly #onGone = (): void => this.#abort?.abort();
}
