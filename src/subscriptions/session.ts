import { MethodError } from '../methods/errors.ts';
import type { Hex } from '../primitives/hex.ts';
import type { Sink } from './interface.ts';
import type { SubscriptionRequest } from './request.ts';

/** Whoever keeps the subscriptions of all connections. */
export interface Subscriber {
  /** Highest block that subscribers have been told of. */
  readonly newest: number;
  readonly maxPerConnection: number;
  /** How many more there may be, of all connections together. */
  readonly room: number;
  idOf(place: number): Hex;
  /** Begins a subscription; what it gives back ends it. */
  open(request: SubscriptionRequest, id: Hex, sink: Sink): () => void;
}

/** The subscriptions of one connection. */
export class Session {
  readonly subscriber: Subscriber;
  readonly #sink: Sink;
  readonly #open = new Map<Hex, () => void>();
  #ids = 0;
  #hasEnded = false;

  constructor(subscriber: Subscriber, sink: Sink) {
    this.subscriber = subscriber;
    this.#sink = sink;
  }

  get size(): number {
    return this.#open.size;
  }

  has(id: Hex): boolean {
    return this.#open.has(id);
  }

  /** An id that this connection has not had yet. */
  nextId(): Hex {
    return this.subscriber.idOf(this.#ids++);
  }

  begin(id: Hex, request: SubscriptionRequest): void {
    if (!this.#hasEnded) this.#open.set(id, this.subscriber.open(request, id, this.#sink));
  }

  close(id: Hex): void {
    this.#open.get(id)?.();
    this.#open.delete(id);
  }

  /** The connection is gone. */
  end(): void {
    this.#hasEnded = true;
    for (const id of [...this.#open.keys()]) this.close(id);
  }
}

/**
 * What one message of a client does to its subscriptions. It takes effect when the answer is sent: no notification
 * precedes it, and a message that is run again after a reorganisation has done nothing before.
 */
export class SessionRequest {
  readonly session: Session;
  #run: unknown;
  #opened = new Map<Hex, SubscriptionRequest>();
  #closed = new Set<Hex>();

  constructor(session: Session) {
    this.session = session;
  }

  /** Subscribes; `run` is another object each time that the whole message is run. */
  subscribe(run: object, request: SubscriptionRequest): Hex {
    this.#enter(run);
    const { subscriber, size } = this.session;
    const more = this.#opened.size - this.#closed.size;
    if (size + more >= subscriber.maxPerConnection) {
      throw refusal(`too many subscriptions, at most ${subscriber.maxPerConnection} a connection`);
    }
    if (more >= subscriber.room) throw new MethodError({ code: 'OVERLOADED' });
    const id = this.session.nextId();
    this.#opened.set(id, request);
    return id;
  }

  unsubscribe(run: object, id: Hex): void {
    this.#enter(run);
    if (this.#opened.delete(id)) return;
    if (!this.session.has(id) || this.#closed.has(id)) throw refusal('subscription not found');
    this.#closed.add(id);
  }

  /** The answer is about to be sent. */
  beforeAnswer(): void {
    for (const id of this.#closed) this.session.close(id);
  }

  /** The answer has been sent. */
  afterAnswer(): void {
    for (const [id, request] of this.#opened) this.session.begin(id, request);
  }

  #enter(run: object): void {
    if (this.#run === run) return;
    this.#run = run;
    this.#opened = new Map();
    this.#closed = new Set();
  }
}

function refusal(reason: string): MethodError {
  return new MethodError({ code: 'SUBSCRIPTION_REFUSED', reason });
}
