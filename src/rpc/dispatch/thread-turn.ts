/** How long requests may be worked on before the event loop turns: with the longest one on top, it stays under 50 ms. */
const MAX_TURN_MS = 12;
/** Work after which it is worth to notice that the event loop turns. */
const NOTICED_MS = 4;

/**
 * How long this thread has worked on requests since its event loop last turned. Each is short, but a batch, a pipeline or
 * a burst of messages brings many in one turn, and everybody else waits for all of them. What is left for later turns is
 * begun in rounds, one piece of each connection: who brings the most waits longest.
 */
export class ThreadTurn {
  #busyMs = 0;
  #isWatched = false;
  #isScheduled = false;
  /** By connection; the next to have its turn is first. */
  readonly #waiting = new Map<object, (() => void)[]>();

  get isOver(): boolean {
    return this.#busyMs >= MAX_TURN_MS;
  }

  /** Notes work that began at this time and ends now. */
  note(began: number): void {
    this.#busyMs += performance.now() - began;
    if (this.#isWatched || this.#busyMs < NOTICED_MS) return;
    this.#isWatched = true;
    setImmediate(() => {
      this.#isWatched = false;
      this.#busyMs = 0;
    });
  }

  /** Begins work of a connection in a later turn in which there is time. How much waits is the caller's to bound. */
  later<T>(connection: object, work: () => T): Promise<Awaited<T>> {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<T>>();
    const begin = (): void => {
      try {
        resolve(work() as Awaited<T>);
      } catch (error) {
        reject(error);
      }
    };
    const line = this.#waiting.get(connection);
    if (line === undefined) this.#waiting.set(connection, [begin]);
    else line.push(begin);
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#beginSome);
  }

  readonly #beginSome = (): void => {
    this.#isScheduled = false;
    for (const [connection, line] of this.#waiting) {
      if (this.isOver) break;
      const begin = line.shift();
      this.#waiting.delete(connection);
      // Behind all others that wait, whom this round still comes to.
      if (line.length > 0) this.#waiting.set(connection, line);
      begin?.();
    }
    if (this.#waiting.size > 0) this.#schedule();
  };
}

/** Of this thread: modules are loaded once in each. */
export const threadTurn = new ThreadTurn();
