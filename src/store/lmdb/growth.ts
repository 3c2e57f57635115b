const DAY_MS = 86_400_000;
/** What is younger says little about a day. */
const LEAST_MS = 3_600_000;
const SAMPLE_MS = 600_000;

interface Sample {
  readonly at: number;
  readonly bytes: number;
}

/** How fast a store grows, by what it was up to a day ago. */
export class Growth {
  readonly #now: () => number;
  /** Oldest first, some minutes apart. */
  readonly #samples: Sample[] = [];

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Takes note of the size. Bytes a day since the oldest that is remembered; undefined until that was an hour ago. */
  perDay(bytes: number): number | undefined {
    const at = this.#now();
    const last = this.#samples.at(-1);
    if (last === undefined || at - last.at >= SAMPLE_MS) this.#samples.push({ at, bytes });
    while (this.#samples.length > 1 && at - (this.#samples[1] as Sample).at >= DAY_MS) this.#samples.shift();
    const oldest = this.#samples[0] as Sample;
    const ms = at - oldest.at;
    return ms < LEAST_MS ? undefined : ((bytes - oldest.bytes) * DAY_MS) / ms;
  }
}
