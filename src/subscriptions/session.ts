import { MethodError } from '../methods/errors.ts';
import type { MethodContext } from '../methods/method.ts';
import type { Hex } from '../primitives/hex.ts';
import type { Sink } from './interface.ts';
import { filterBytes, type SubscriptionRequest } from './request.ts';

/** Whoever keeps the subscriptions of all connections. */
export interface Subscriber {
  /** Highest block that subscribers have been told of. */
  readonly newest: number;
  readonly maxPerConnection: number;
  /** Takes a place among the subscriptions of all connections; false when there is none left for this client. */
  takePlace(client: string): boolean;
  /** Gives back a place that no subscription was opened on. */
  givePlaceBack(client: string): void;
  idOf(place: number): Hex;
  /** Begins a subscription on a place that was taken; what it gives back ends it, and gives the place back. */
  open(request: SubscriptionRequest, id: Hex, sink: Sink): () => void;
}

/** The subscriptions of one connection. */
export class Session {
  readonly subscriber: Subscriber;
  readonly #sink: Sink;
  readonly #open = new Map<Hex, { readonly end: () => void; readonly bytes: number }>();
  /** Places taken for subscriptions whose requests are not answered yet. */
  #reserved = 0;
  #filterBytes = 0;
  #ids = 0;
  #hasEnded = false;

  constructor(subscriber: Subscriber, sink: Sink) {
    this.subscriber = subscriber;
    this.#sink = sink;
  }

  /** What the filters of its subscriptions take up. */
  get filterBytes(): number {
    return this.#filterBytes;
  }

  has(id: Hex): boolean {
    return this.#open.has(id);
  }

  /** An id that this connection has not had yet. */
  nextId(): Hex {
    return this.subscriber.idOf(this.#ids++);
  }

  /** Takes a place for a subscription, before its request is answered: several requests may be under way. */
  reserve(closing: number): void {
    const { maxPerConnection } = this.subscriber;
    if (this.#open.size + this.#reserved - closing >= maxPerConnection) {
      throw refusal(`too many subscriptions, at most ${maxPerConnection} a connection`);
    }
    if (this.#hasEnded || !this.subscriber.takePlace(this.#sink.client))
      throw new MethodError({ code: 'OVERLOADED' });
    this.#reserved++;
  }

  /** Gives places back on which nothing was opened. */
  release(places: number): void {
    if (this.#hasEnded) return;
    this.#reserved -= places;
    for (let place = 0; place < places; place++) this.subscriber.givePlaceBack(this.#sink.client);
  }

  /** Opens a subscription on a place that was reserved. */
  begin(id: Hex, request: SubscriptionRequest): void {
    if (this.#hasEnded) return;
    this.#reserved--;
    const bytes = filterBytes(request);
    this.#filterBytes += bytes;
    // Known before it is opened: it may close the connection at once.
    const entry = { end: () => {}, bytes };
    this.#open.set(id, entry);
    const end = this.subscriber.open(request, id, this.#sink);
    if (this.#open.get(id) === entry) entry.end = end;
    else end();
  }

  close(id: Hex): void {
    const entry = this.#open.get(id);
    if (entry === undefined) return;
    this.#open.delete(id);
    this.#filterBytes -= entry.bytes;
    entry.end();
  }

  /** The connection is gone. */
  end(): void {
    this.release(this.#reserved);
    this.#hasEnded = true;
    for (const id of [...this.#open.keys()]) this.close(id);
  }
}

/** The call that asked for something, and the run of its message that it is part of. */
type SessionCall = Pick<MethodContext, 'snapshot'>;

/**
 * What one message of a client does to its subscriptions. It takes effect when the answer is sent: no notification
 * precedes it, and a message that is run again after a reorg has done nothing before. What the answer does not
 * have the result of, because it was refused or replaced by an error, has no effect.
 */
export class SessionRequest {
  readonly session: Session;
  #run: unknown;
  #opened = new Map<Hex, { readonly request: SubscriptionRequest; readonly call: SessionCall }>();
  #closed = new Map<Hex, SessionCall>();
  #answered: ReadonlySet<SessionCall> = new Set();
  #isAnswered = false;

  constructor(session: Session) {
    this.session = session;
  }

  subscribe(call: SessionCall, request: SubscriptionRequest): Hex {
    this.#enter(call);
    this.session.reserve(this.#closed.size);
    const id = this.session.nextId();
    this.#opened.set(id, { request, call });
    return id;
  }

  unsubscribe(call: SessionCall, id: Hex): void {
    this.#enter(call);
    if (this.#opened.delete(id)) {
      this.session.release(1);
      return;
    }
    if (!this.session.has(id) || this.#closed.has(id)) throw refusal('subscription not found');
    this.#closed.set(id, call);
  }

  /** The answer is about to be sent, with the results of these calls. */
  beforeAnswer(answered: readonly SessionCall[]): void {
    this.#answered = new Set(answered);
    for (const [id, call] of this.#closed) if (this.#answered.has(call)) this.session.close(id);
  }

  /** The answer has been sent. */
  afterAnswer(): void {
    const opened = this.#opened;
    this.#opened = new Map();
    this.#isAnswered = true;
    for (const [id, { request, call }] of opened) {
      if (this.#answered.has(call)) this.session.begin(id, request);
      else this.session.release(1);
    }
  }

  /** Each run of a message has a snapshot of its own. */
  #enter({ snapshot }: SessionCall): void {
    // It was out of time, and what is left of it goes on for nobody.
    if (this.#isAnswered) throw new MethodError({ code: 'CANCELLED' });
    if (this.#run === snapshot) return;
    this.#run = snapshot;
    this.session.release(this.#opened.size);
    this.#opened = new Map();
    this.#closed = new Map();
  }
}

function refusal(reason: string): MethodError {
  return new MethodError({ code: 'SUBSCRIPTION_REFUSED', reason });
}
