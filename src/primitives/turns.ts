/** Does one thing at a time, in order of asking. */
export class Turns {
  readonly #maxWaiting: number;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  get isFull(): boolean {
    return this.#waiting >= this.#maxWaiting;
  }

  take<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const done = this.#last.then(work).finally(() => {
      this.#waiting -= 1;
    });
    // Its failure is its caller's; the next one is not concerned.
    this.#last = done.catch(() => {});
    return done;
  }
}
