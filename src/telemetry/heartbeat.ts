/** Shared memory in which each serving thread counts its beats. */
export type HeartbeatMemory = Int32Array<SharedArrayBuffer>;

/** Makes it, for as many threads. */
export function newHeartbeats(threads: number): HeartbeatMemory {
  return new Int32Array(new SharedArrayBuffer(threads * Int32Array.BYTES_PER_ELEMENT));
}

const BEAT_MS = 250;

/** Beats for this thread from now on, whenever its event loop comes round. */
export function keepBeating(memory: HeartbeatMemory, workerIndex: number): void {
  setInterval(() => Atomics.add(memory, workerIndex, 1), BEAT_MS).unref();
}

/**
 * How long each thread has been silent, as the main thread sees it. Memory and not messages: a thread that hangs would
 * leave questions behind without end, and an answer would wait behind other work.
 */
export class Pulse {
  readonly #memory: HeartbeatMemory;
  readonly #now: () => number;
  readonly #seen: { beats: number; at: number }[];

  constructor(memory: HeartbeatMemory, now: () => number = () => performance.now()) {
    this.#memory = memory;
    this.#now = now;
    this.#seen = Array.from(memory, (beats) => ({ beats, at: now() }));
  }

  /**
   * Looks now and then, from when threads have begun; without it, a thread would seem silent since somebody last asked, or while it
   * was being started.
   */
  watch(): Disposable {
    for (const seen of this.#seen) seen.at = this.#now();
    const timer = setInterval(() => this.silentMs(), BEAT_MS);
    timer.unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  /** Milliseconds since each thread was last seen to beat. */
  silentMs(): readonly number[] {
    const now = this.#now();
    return this.#seen.map((seen, workerIndex) => {
      const beats = Atomics.load(this.#memory, workerIndex);
      if (beats !== seen.beats) {
        seen.beats = beats;
        seen.at = now;
      }
      return now - seen.at;
    });
  }

  /** Workers that have been silent for so long, as reasons of /readyz. */
  issues(limitMs: number): readonly { readonly reason: 'worker'; readonly detail: string }[] {
    return this.silentMs().flatMap((ms, workerIndex) => {
      if (ms < limitMs) return [];
      const detail = `serving thread ${workerIndex} has not responded for ${Math.floor(ms / 1_000)} s`;
      return [{ reason: 'worker', detail }];
    });
  }
}
