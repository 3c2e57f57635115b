import { StateUnavailableError } from '../primitives/errors.ts';

interface Waiter<T> {
  readonly resolve: (answer: T) => void;
  readonly reject: (error: Error) => void;
}

/** A question to the main thread. */
interface Question {
  readonly send: (id: number) => void;
  /** Tells the main thread that nobody waits for it any more. */
  readonly cancel: (id: number) => void;
  /** What to say when no answer came in time. */
  readonly late: string;
  /** Of whoever asks. */
  readonly signal: AbortSignal | undefined;
}

/** What one serving thread has asked the main thread: each for as long as a request can wait and somebody waits for it. */
export class Waiting<T> {
  readonly #timeoutMs: number;
  readonly #waiters = new Map<number, Waiter<T>>();
  #nextId = 1;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Asks; rejects with `StateUnavailableError` when it is given up. */
  ask({ send, cancel, late, signal }: Question): Promise<T> {
    if (signal?.aborted === true) return Promise.reject(new StateUnavailableError('nobody waits for it'));
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const giveUp = (reason: string): void => {
      reject(new StateUnavailableError(reason));
      cancel(id);
    };
    const onAbort = (): void => giveUp('nobody waits for it');
    const timer = setTimeout(() => giveUp(`${late} within ${this.#timeoutMs} ms`), this.#timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#waiters.set(id, { resolve, reject });
    send(id);
    return promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#waiters.delete(id);
    });
  }

  /** Whoever waits for the answer to a question; undefined once nobody does. */
  get(id: number): Waiter<T> | undefined {
    return this.#waiters.get(id);
  }
}
