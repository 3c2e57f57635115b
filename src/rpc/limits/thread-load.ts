import { getHeapStatistics } from 'node:v8';

/** How late a thread may be on average, and how much of its heap may be in use, before it takes nothing more but what is cheapest. */
const MAX_LAG_MS = 1_000;
const MAX_HEAP = 0.95;
/** Below this much of the heap, nothing is short: up to here V8 has garbage that it has not looked for. */
const EASY_HEAP = 0.75;
const LOOK_MS = 100;
/** What the last look counts for, among all before it. */
const NEW_SHARE = 0.2;

/** The pressure from which on requests are refused for what they cost. */
const SHEDDING = 0.5;
/** The cost, in units, of what is refused first: that of the costliest call there is. */
const COSTLY = 200;

/** How hard a serving thread is pressed: by work that holds it up, and by what its heap holds. */
export class ThreadLoad {
  #lagMs = 0;
  #heap = 0;

  /** From 0 to 1, and above where it is past its limits. */
  get pressure(): number {
    return Math.max(this.#lagMs / MAX_LAG_MS, (this.#heap - EASY_HEAP) / (MAX_HEAP - EASY_HEAP));
  }

  /** Takes in how late the thread came to look, and how much of its heap is in use, of 1. */
  note(lateMs: number, heap: number): void {
    this.#lagMs += (Math.max(lateMs, 0) - this.#lagMs) * NEW_SHARE;
    this.#heap = heap;
  }

  /** Looks again and again. */
  watch(): Disposable {
    let due = performance.now() + LOOK_MS;
    const timer = setInterval(() => {
      const now = performance.now();
      const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
      this.note(now - due, used / limit);
      due = now + LOOK_MS;
    }, LOOK_MS);
    timer.unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }
}

/**
 * The most that a request may cost at a pressure: anything up to half of it, then ever less, down to a read of one value. What costs
 * most is refused first, so that many are served instead of few.
 */
export function affordableUnits(pressure: number): number {
  if (pressure < SHEDDING) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor(COSTLY ** ((1 - pressure) / (1 - SHEDDING))));
}
