/**
 * Lets many wait for the next time something happens. A wait leaves nothing behind when it ends: a promise that is raced
 * against, and lives as long as the process, keeps something of every race.
 */
export class News {
  #count = 0;
  readonly #waiting = new Set<(told: boolean) => void>();

  /** How often it has happened. */
  get count(): number {
    return this.#count;
  }

  /** Waits under way. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** It happens. */
  tell(): void {
    this.#count++;
    for (const end of [...this.#waiting]) end(true);
  }

  /**
   * True once it has happened more than `count` times, which may be so already; false when the time is over or the signal
   * aborts. The time alone does not keep the process alive.
   */
  after(count: number, ms: number, signal?: AbortSignal): Promise<boolean> {
    if (this.#count > count) return Promise.resolve(true);
    if (signal?.aborted === true) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (told: boolean): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        this.#waiting.delete(end);
        resolve(told);
      };
      const giveUp = (): void => end(false);
      const timer = setTimeout(giveUp, ms);
      timer.unref();
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(end);
    });
  }
}
