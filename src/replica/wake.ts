/** A pause that can be cut short. */
export class Wake {
  #isAwake = false;
  #end: (() => void) | undefined;

  /** Ends the pause that is under way, or the next one. */
  wake(): void {
    this.#isAwake = true;
    this.#end?.();
  }

  /** Waits so long, unless it is or was woken. */
  async pause(ms: number): Promise<void> {
    if (!this.#isAwake) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ms);
      this.#end = resolve;
      await promise;
      this.#end = undefined;
      clearTimeout(timer);
    }
    this.#isAwake = false;
  }
}
