/** Values in order between one producer and one consumer, up to a bound that the producer has to keep. */
export class EventQueue<T> {
  readonly #max: number;
  #values: T[] = [];
  #wake: (() => void) | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  get full(): boolean {
    return this.#values.length >= this.#max;
  }

  put(value: T): void {
    this.#values.push(value);
    this.#wake?.();
  }

  /** Takes out everything that waits. */
  clear(): readonly T[] {
    return this.#values.splice(0);
  }

  /** The next value, or `undefined` once the signal has aborted. */
  async take(signal: AbortSignal): Promise<T | undefined> {
    while (this.#values.length === 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener('abort', wake, { once: true });
      });
    }
    return signal.aborted ? undefined : this.#values.shift();
  }
}
