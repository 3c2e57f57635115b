/** Shared memory in which each thread says how far it is with the feed. */
export type ProgressMemory = Int32Array<SharedArrayBuffer>;

/** Makes it, for as many threads. */
export function newProgress(threads: number): ProgressMemory {
  return new Int32Array(new SharedArrayBuffer(threads * Int32Array.BYTES_PER_ELEMENT));
}

/** How long a thread sleeps before it looks again by itself; it is woken before that. */
const LOOK_AGAIN_MS = 1_000;

/**
 * How far each serving thread is with the feed. A thread tells its subscribers of an event only once every thread can
 * answer from it: whoever hears of it may read over another connection, which is another thread's.
 */
export class Progress {
  readonly #applied: ProgressMemory;
  readonly #workerIndex: number;

  constructor(memory: ProgressMemory, workerIndex: number) {
    this.#applied = memory;
    this.#workerIndex = workerIndex;
  }

  /** Says that this thread can answer from an item. Numbers go round after 2³¹, one a millisecond for 24 days. */
  applied(sequence: number): void {
    Atomics.store(this.#applied, this.#workerIndex, sequence | 0);
    Atomics.notify(this.#applied, this.#workerIndex);
  }

  /** Resolves once every thread can, or nobody cares any more. */
  everywhere(sequence: number, isOver: () => boolean): Promise<void> {
    return appliedEverywhere(this.#applied, sequence, isOver);
  }
}

/** Resolves once every thread can answer from an item, or it is over: threads that have ended answer nothing. */
export async function appliedEverywhere(
  applied: ProgressMemory,
  sequence: number,
  isOver: () => boolean,
): Promise<void> {
  for (let workerIndex = 0; workerIndex < applied.length; workerIndex++) {
    while (!isOver()) {
      const at = Atomics.load(applied, workerIndex);
      if (((at - sequence) | 0) >= 0) break;
      const { async, value } = Atomics.waitAsync(applied, workerIndex, at, LOOK_AGAIN_MS);
      if (async) await value;
    }
  }
}
