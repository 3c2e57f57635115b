import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long work may go on within one turn of the event loop, as all others on the thread wait for it. */
const MAX_TURN_MS = 8;
/** The same in units of work, for those that count it. */
const MAX_TURN_WORK = 2_048;

/** Breaks long work up, so that a thread gives others their turn. */
export class Pace {
  #began = performance.now();
  #work = 0;

  /** Counts work, a few microseconds a unit; true when it is time to rest. */
  spend(work: number): boolean {
    this.#work += work;
    return this.#work >= MAX_TURN_WORK || performance.now() - this.#began >= MAX_TURN_MS;
  }

  /** Lets others have their turn. */
  async rest(): Promise<void> {
    await nextTurn();
    this.#began = performance.now();
    this.#work = 0;
  }
}
