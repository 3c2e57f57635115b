/** A place in a search where others may have their turn; nothing is found there. */
export type Pause = readonly never[];
export const PAUSE: Pause = [];
/** Work that pauses on its way to a result. */
export type Paused<T> = Generator<Pause, T, void>;

/** The postings of one constrained position, as the planner sees them: read in chunks, in ascending order. */
export interface Lane {
  /** Alternatives at this position. */
  readonly values: number;
  readonly rowsRead: number;
  readonly bytesRead: number;
  /** Every row has been read. */
  readonly exhausted: boolean;
  /** The last bucket up to which every row has been read; before the first `advance`, below the range. */
  readonly horizon: number;
  /** Whether there are fewer than `limit` rows in all; looks at no more than that many. */
  isShorterThan(limit: number): boolean;
  /** Reads the next chunk. */
  advance(): Paused<void>;
}

/** A lane this short leads the search without a race. */
const shortRows = 8;

/** Chunks each lane may read before the planner settles for an estimate. */
const raceRounds = 6;
/** Rough costs in units of decoding one byte of a posting row: estimates, not measured one by one. */
const bodyCost = 400;
const seekCost = 300;
/** A row of a lane of which nothing was read: it lost the race, so it is likely long. */
const unknownRowBytes = 8_192;

/**
 * Picks the lane whose rows lead the search. Lanes advance in turns and the first to run out is the smallest, which
 * costs at most a small multiple of reading that lane alone, however large the others are. When none runs out they
 * are all large, and the one with the fewest bytes a bucket wins.
 */
export function* chooseDriver<L extends Lane>(
  lanes: readonly L[],
  firstBucket: number,
): Paused<L | undefined> {
  const order = lanes.toSorted((a, b) => a.values - b.values);
  if (order.length <= 1) return order[0];
  // Rows of recent blocks come a bucket at a time, so that even one step of a race against a hot value costs.
  const short = order.find((lane) => lane.values <= shortRows && lane.isShorterThan(shortRows));
  if (short !== undefined) return short;
  for (let round = 0; round < raceRounds; round++) {
    for (const lane of order) {
      yield* lane.advance();
      if (lane.exhausted) return lane;
    }
  }
  const density = (lane: Lane): number => lane.bytesRead / (lane.horizon - firstBucket + 1);
  return order.reduce((best, lane) => (density(lane) < density(best) ? lane : best));
}

/**
 * Whether to read another lane's row of a bucket to thin out `candidates`, or to let the check of their bodies do
 * it: a row of a hot value may be longer than all the bodies it could spare.
 */
export function worthIntersecting(candidates: number, lane: Lane, bucket: number): boolean {
  const read = lane.exhausted || bucket <= lane.horizon;
  const rowBytes = lane.rowsRead === 0 ? unknownRowBytes : lane.bytesRead / lane.rowsRead;
  return candidates * bodyCost >= (read ? 0 : lane.values * seekCost) + rowBytes;
}
