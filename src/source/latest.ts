/** Room for one value, between one producer and one consumer: what is not taken in time is replaced. */
export class Latest<T> {
  #value: T | undefined;
  #wake: (() => void) | undefined;

  /** True when the value before was never taken. */
  put(value: T): boolean {
    const replaced = this.#value !== undefined;
    this.#value = value;
    this.#wake?.();
    return replaced;
  }

  /** The next value, or `undefined` once the signal has aborted. */
  async take(signal: AbortSignal): Promise<T | undefined> {
    while (this.#value === undefined && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener('abort', wake, { once: true });
      });
    }
    const value = signal.aborted ? undefined : this.#value;
    this.#value = undefined;
    return value;
  }
}
