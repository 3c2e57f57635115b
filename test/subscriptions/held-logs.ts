/** A log as subscriptions and eth_getLogs give it. */
export interface SentLog {
  readonly address: string;
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly logIndex: string;
  readonly removed: boolean;
}

export interface Place {
  readonly block: number;
  readonly index: number;
}

export const placeOf = ({ blockNumber, logIndex }: SentLog): Place => ({
  block: Number(blockNumber),
  index: Number(logIndex),
});

export const isBefore = (one: Place, other: Place): boolean =>
  one.block < other.block || (one.block === other.block && one.index < other.index);

/** Whatever field it is in; all but whether it is there. */
const textOf = (log: SentLog): string => JSON.stringify({ ...log, removed: false });

/** The block hash is zero in what was told early. */
export const hashless = (log: SentLog): string =>
  JSON.stringify({ ...log, removed: false, blockHash: undefined });

interface Held {
  readonly place: Place;
  readonly log: SentLog;
  readonly text: string;
}

/** What a client holds: a stack, since what is taken back is the newest and what is added comes after all. */
export class HeldLogs {
  readonly #stack: Held[] = [];

  /** Applies a message; what is wrong with it, if anything is. */
  take(log: SentLog): string | undefined {
    const place = placeOf(log);
    const last = this.#stack.at(-1);
    if (log.removed) {
      const [text, held] = [textOf(log), last?.text];
      if (text !== held)
        return `taken back, but it is not the newest, or differs:\n${text}\nthe newest is\n${held}`;
      this.#stack.pop();
      return undefined;
    }
    if (last !== undefined && !isBefore(last.place, place))
      return `added twice or out of order:\n${textOf(log)}\nafter\n${last.text}`;
    this.#stack.push({ place, log, text: textOf(log) });
    return undefined;
  }

  /** Forgets all logs of higher blocks. */
  forgetAbove(block: number): void {
    while ((this.#stack.at(-1)?.place.block ?? -1) > block) this.#stack.pop();
  }

  get size(): number {
    return this.#stack.length;
  }

  get newest(): Place | undefined {
    return this.#stack.at(-1)?.place;
  }

  /** From a block on. */
  from(block: number): readonly SentLog[] {
    return this.#stack.filter(({ place }) => place.block >= block).map(({ log }) => log);
  }
}
