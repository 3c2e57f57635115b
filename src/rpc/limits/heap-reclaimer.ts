import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { residentBytes } from '../../telemetry/resident.ts';

/** Garbage that is worth a collection, which takes a thread ten milliseconds. */
const WORTH_BYTES = 48 * 2 ** 20;
/** So much less than clients held has left something behind, however little garbage V8 sees. */
const RELEASED_BYTES = 16 * 2 ** 20;
/** A larger heap, or a thread that is busier, is not collected thoroughly: it would keep too many waiting for too long. */
const THOROUGH_HEAP_BYTES = 48 * 2 ** 20;
const THOROUGH_BUSY = 0.5;
/** So much more of the whole process is worth one too: V8 counts the pages that it has emptied nowhere. */
const GROWN_BYTES = 32 * 2 ** 20;
/** Looks after a thorough collection until growth asks for the next. */
const GROWN_PAUSE = 15;
/** Looks until a process is as large as its start makes it. */
const START = 10;
/** Looks between two collections, at least. */
const PAUSE = 5;

/** `quick` frees objects; `thorough`, which takes up to three times as long, also gives back the pages that V8 has emptied. */
export type Collection = 'quick' | 'thorough';

/** What this thread uses, garbage included, and how busy it was since it was last asked. */
export interface ThreadUse {
  readonly heap: number;
  readonly external: number;
  /** From 0 to 1. */
  readonly busy: number;
}

export interface HeapReclaimerModules {
  /** What clients hold now. */
  readonly held: () => number;
  readonly use?: () => ThreadUse;
  /** What the process has of its own. */
  readonly resident?: () => number;
  /** Absent where Node was started without it. */
  readonly collect?: ((kind: Collection) => void) | undefined;
}

/**
 * Frees what clients left behind: unfinished messages, long requests and answers. V8 looks for it when it needs room, and has room
 * for hundreds of megabytes; most of it is outside of its heap, where it sees little of it.
 */
export class HeapReclaimer {
  readonly #held: () => number;
  readonly #use: () => ThreadUse;
  readonly #resident: () => number;
  readonly #collect: ((kind: Collection) => void) | undefined;
  /** What was there after the last collection, or at first, and no client's. */
  #others: number | undefined;
  /** The most that clients held since the last thorough collection. */
  #mostHeld = 0;
  /** The least that the process had since, or since it had started. */
  #leastResident = Number.POSITIVE_INFINITY;
  #looks = 0;
  #grownNotBefore = 0;
  #isThoroughDue = false;
  /** The heap was too large for a thorough collection even without garbage. */
  #isLarge = false;
  #rest = 0;

  constructor({
    held,
    use = useHere(),
    // Where it is not known, nothing is known to have grown.
    resident = () => residentBytes()?.anonymous ?? 0,
    collect = collectorHere(),
  }: HeapReclaimerModules) {
    this.#held = held;
    this.#use = use;
    this.#resident = resident;
    this.#collect = collect;
  }

  /** Looks whether there is much, and has it collected; thoroughly once no more of it comes. */
  look(): void {
    const held = this.#held();
    const { heap, external, busy } = this.#use();
    this.#mostHeld = Math.max(this.#mostHeld, held);
    const isGrown = this.#hasGrown();
    if (this.#rest > 0) {
      this.#rest--;
      return;
    }
    this.#others ??= Math.max(0, heap + external - held);
    if (heap + external - held - this.#others >= WORTH_BYTES) {
      const isLarge = this.#run('quick') > THOROUGH_HEAP_BYTES;
      // While a thread is busy, what its heap holds may be about to be left behind.
      this.#isLarge = isLarge && busy < THOROUGH_BUSY;
      return;
    }
    const isDue = this.#isThoroughDue || isGrown || this.#mostHeld - held >= RELEASED_BYTES;
    if (!isDue || busy >= THOROUGH_BUSY) return;
    if (heap <= THOROUGH_HEAP_BYTES) this.#run('thorough');
    // What makes it large may be garbage by now.
    else if (!this.#isLarge) this.#isLarge = this.#run('quick') > THOROUGH_HEAP_BYTES;
  }

  #hasGrown(): boolean {
    this.#looks++;
    if (this.#looks <= START) return false;
    const resident = this.#resident();
    this.#leastResident = Math.min(this.#leastResident, resident);
    return this.#looks > this.#grownNotBefore && resident - this.#leastResident >= GROWN_BYTES;
  }

  /** Gives the heap that is left. */
  #run(kind: Collection): number {
    this.#collect?.(kind);
    const held = this.#held();
    const { heap, external } = this.#use();
    this.#others = Math.max(0, heap + external - held);
    this.#isThoroughDue = kind === 'quick';
    if (kind === 'thorough') {
      this.#mostHeld = held;
      this.#leastResident = this.#resident();
      this.#grownNotBefore = this.#looks + GROWN_PAUSE;
    }
    this.#rest = PAUSE;
    return heap;
  }
}

function useHere(): () => ThreadUse {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization: busy } = performance.eventLoopUtilization(now, last);
    last = now;
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
    return { heap, external, busy };
  };
}

function collectorHere(): HeapReclaimerModules['collect'] {
  const { gc } = globalThis;
  if (gc === undefined) return undefined;
  return (kind) =>
    kind === 'quick' ? gc() : gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
