/** How long work may go on within one turn of the event loop, as all others on the thread wait for it. */
const MAX_TURN_MS = 2;
/** The same in units of work, for those that count it. */
const MAX_TURN_WORK = 512;

/** Those of this thread that rest. One goes on in each turn of the event loop: all at once would be as long as they are many. */
const resting: (() => void)[] = [];

function wakeNext(): void {
  resting.shift()?.();
  if (resting.length > 0) setImmediate(wakeNext);
}

/** Breaks long work up, so that a thread gives others their turn. */
export class Pace {
  #began = performance.now();
  #work = 0;

  /** Counts work, a few microseconds a unit; true when it is time to rest. */
  spend(work: number): boolean {
    this.#work += work;
    return this.#work >= MAX_TURN_WORK || performance.now() - this.#began >= MAX_TURN_MS;
  }

  /** Lets others have their turn, those first who rest already. */
  async rest(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (resting.push(resolve) === 1) setImmediate(wakeNext);
    });
    this.#began = performance.now();
    this.#work = 0;
  }
}
