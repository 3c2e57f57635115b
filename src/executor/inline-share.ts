import { LRUCache } from 'lru-cache';

/** Long calls may take this much of a thread's time, and so much at once. */
const SHARE = 0.25;
const BURST_MS = 50;
/** Of one client's, while there are others: the pool is for them, and whoever has found that out need not try it here again and again. */
const CLIENT_SHARE = 0.002;
const CLIENT_BURST_MS = 10;
/** How long somebody else counts as there. */
const OTHERS_MS = 1_000;
/** Clients whose long calls are remembered. */
const REMEMBERED = 1_000;
/** Calls below this are what a serving thread is for. */
const LONG_MS = 1;
/** What is left of the steps of a call once that time is used up. */
const REDUCTION = 16;

/** Time that was used of a share of all time, which makes up for it. */
class Spent {
  readonly #share: number;
  #ms: number;
  #at: number;

  constructor(share: number, now: number, ms = 0) {
    this.#share = share;
    this.#at = now;
    this.#ms = ms;
  }

  /** What is left of it to make up for. */
  at(now: number): number {
    this.#ms = Math.max(0, this.#ms - (now - this.#at) * this.#share);
    this.#at = now;
    return this.#ms;
  }

  add(ms: number): void {
    this.#ms += ms;
  }
}

/**
 * How much of a serving thread calls may take that are long, but not too long for it: each holds up all others for its time,
 * and hundreds of them would for seconds. Beyond their share calls get fewer steps there, and the pool runs the long ones.
 */
export class InlineShare {
  readonly #now: () => number;
  readonly #all: Spent;
  readonly #byClient = new LRUCache<string, Spent>({ max: REMEMBERED });
  #last: string | undefined;
  /** When a call came from another client than the one before it. */
  #changedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#all = new Spent(SHARE, now());
  }

  /** Runs a call with the steps that it may take now. */
  run<T>(steps: number, client: string | undefined, call: (steps: number) => T): T {
    const began = this.#now();
    if (client !== this.#last) {
      this.#last = client;
      this.#changedAt = began;
    }
    const isAlone = client === undefined || began - this.#changedAt > OTHERS_MS;
    // Most clients have none.
    const own = isAlone ? undefined : this.#byClient.get(client);
    const isOver = this.#all.at(began) > BURST_MS || (own !== undefined && own.at(began) > CLIENT_BURST_MS);
    const result = call(isOver ? Math.ceil(steps / REDUCTION) : steps);
    const ended = this.#now();
    const tookMs = ended - began;
    if (tookMs > LONG_MS) {
      this.#all.add(tookMs);
      if (own !== undefined) own.add(tookMs);
      else if (!isAlone) this.#byClient.set(client, new Spent(CLIENT_SHARE, ended, tookMs));
    }
    return result;
  }
}

/** That of this thread. */
export const inlineShare = new InlineShare();
