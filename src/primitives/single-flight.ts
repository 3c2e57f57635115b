interface Flight<T> {
  readonly promise: Promise<T>;
  readonly abort: AbortController;
  askers: number;
}

/** Aborts when all of these have, of which there is at least one. */
export function whenAllAbort(signals: readonly AbortSignal[]): AbortSignal {
  const all = new AbortController();
  let left = signals.length;
  const onAbort = (event: Event): void => {
    left -= 1;
    if (left === 0) all.abort((event.target as AbortSignal).reason);
  };
  for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true });
  return all.signal;
}

/** Runs work once for everybody who asks for it meanwhile. It is given up when the last of them has. */
export class SingleFlight {
  readonly #flights = new Map<string, Flight<unknown>>();

  get size(): number {
    return this.#flights.size;
  }

  has(key: string): boolean {
    return this.#flights.has(key);
  }

  /** `key` must name all that decides the answer, its type too. */
  run<T>(
    key: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    const running = this.#flights.get(key) as Flight<T> | undefined;
    const flight = running ?? this.#start(key, work);
    flight.askers += 1;
    if (signal === undefined) return flight.promise;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        reject(signal.reason as Error);
        flight.askers -= 1;
        if (flight.askers > 0) return;
        // Gone at once: who asks from now on must not join work that is being given up.
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        flight.abort.abort(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      flight.promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  #start<T>(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const abort = new AbortController();
    const flight: Flight<T> = { promise: work(abort.signal), abort, askers: 0 };
    this.#flights.set(key, flight);
    const end = (): void => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    flight.promise.then(end, end);
    return flight;
  }
}
