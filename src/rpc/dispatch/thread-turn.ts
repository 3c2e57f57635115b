/** How long requests may be worked on before the event loop turns: with the longest one on top, it stays under 50 ms. */
const MAX_TURN_MS = 12;
/** Work after which it is worth to notice that the event loop turns. */
const NOTICED_MS = 4;

/** Whose work it is. */
interface Waiter {
  readonly client: string;
  readonly connection: object;
}

/** What waits of one client, by connection: each is taken from in turn. */
class Lines {
  /** The next to have its turn is first. */
  readonly #byConnection = new Map<object, (() => void)[]>();

  get isEmpty(): boolean {
    return this.#byConnection.size === 0;
  }

  push(connection: object, begin: () => void): void {
    const line = this.#byConnection.get(connection);
    if (line === undefined) this.#byConnection.set(connection, [begin]);
    else line.push(begin);
  }

  shift(): (() => void) | undefined {
    for (const [connection, line] of this.#byConnection) {
      const begin = line.shift();
      this.#byConnection.delete(connection);
      if (line.length > 0) this.#byConnection.set(connection, line);
      return begin;
    }
    return undefined;
  }
}

/**
 * How long this thread has worked on requests since its event loop last turned. Each is short, but a batch, a pipeline or
 * a burst of messages brings many in one turn, and everybody else waits for all of them. What is left for later turns is
 * begun in rounds, one piece of each client, whose connections take turns, too: who brings the most waits longest.
 */
export class ThreadTurn {
  #busyMs = 0;
  #isWatched = false;
  #isScheduled = false;
  /** By client; the next to have its turn is first. */
  readonly #waiting = new Map<string, Lines>();

  get isOver(): boolean {
    return this.#busyMs >= MAX_TURN_MS;
  }

  /** Notes work that began at this time and ends now; gives the time, which costs to ask for. */
  note(began: number): number {
    const now = performance.now();
    this.#busyMs += now - began;
    if (this.#isWatched || this.#busyMs < NOTICED_MS) return now;
    this.#isWatched = true;
    setImmediate(() => {
      this.#isWatched = false;
      this.#busyMs = 0;
    });
    return now;
  }

  /** Begins work in a later turn in which there is time. How much waits is the caller's to bound. */
  later<T>({ client, connection }: Waiter, work: () => T): Promise<Awaited<T>> {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<T>>();
    const begin = (): void => {
      try {
        resolve(work() as Awaited<T>);
      } catch (error) {
        reject(error);
      }
    };
    const lines = this.#waiting.get(client) ?? new Lines();
    lines.push(connection, begin);
    this.#waiting.set(client, lines);
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
    for (const [client, lines] of this.#waiting) {
      if (this.isOver) break;
      const begin = lines.shift();
      this.#waiting.delete(client);
      // Behind all others that wait, whom this round still comes to.
      if (!lines.isEmpty) this.#waiting.set(client, lines);
      begin?.();
    }
    if (this.#waiting.size > 0) this.#schedule();
  };
}

/** Of this thread: modules are loaded once in each. */
export const threadTurn = new ThreadTurn();
