/** Long calls may take this much of a thread's time, and so much at once. */
const SHARE = 0.25;
const BURST_MS = 50;
/** Calls below this are what a serving thread is for. */
const LONG_MS = 1;
/** What is left of the steps of a call once that time is used up. */
const REDUCTION = 16;

/**
 * How much of a serving thread calls may take that are long, but not too long for it: each holds up all others for its time,
 * and hundreds of them would for seconds. Beyond their share calls get fewer steps there, and the pool runs the long ones.
 */
export class InlineShare {
  readonly #now: () => number;
  #spentMs = 0;
  #at: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#at = now();
  }

  /** Runs a call with the steps that it may take now. */
  run<T>(steps: number, call: (steps: number) => T): T {
    const began = this.#now();
    this.#spentMs = Math.max(0, this.#spentMs - (began - this.#at) * SHARE);
    this.#at = began;
    const result = call(this.#spentMs > BURST_MS ? Math.ceil(steps / REDUCTION) : steps);
    const tookMs = this.#now() - began;
    if (tookMs > LONG_MS) this.#spentMs += tookMs;
    return result;
  }
}

/** That of this thread. */
export const inlineShare = new InlineShare();
