/** A source as its rank and life decide whether it is listened to. */
export interface Ranked {
  /** The lower, the sooner it is listened to. Sources of one rank go together. */
  readonly rank: number;
  readonly isLive: boolean;
}

/**
 * Which sources feed the sequence: those of the lowest rank that is live. Raw streams of one builder have the same indexes, and
 * share a rank; sources of whole blocks number what they happen to see, so that only one of them can be followed.
 */
export class Precedence {
  readonly #sources: () => readonly Ranked[];
  #feeding: number | undefined;

  constructor(sources: () => readonly Ranked[]) {
    this.#sources = sources;
  }

  /** True for the source that feeds now. */
  isFeeding(rank: number): boolean {
    return this.#feeding === rank;
  }

  /** Whether what a source has now goes on; `begins` when it is the beginning of a block. */
  admits(rank: number, begins: boolean): boolean {
    if (this.#feeding === rank) return true;
    // In the middle of a block it would be a hole, and end what another source has of that block.
    if (this.#feeding !== undefined && rank < this.#feeding && !begins) return false;
    if (this.#sources().some((other) => other.rank < rank && other.isLive)) return false;
    this.#feeding = rank;
    return true;
  }
}
