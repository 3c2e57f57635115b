/** A place in what there is to tell: all of the events up to `position`, and `offset` messages of the next one. */
export interface FilterCursor {
  readonly position: number;
  readonly offset: number;
}

/** What lies between two places; without an end, all that comes. */
export interface FilterSpan {
  readonly from: FilterCursor;
  readonly to?: FilterCursor | undefined;
}

/** Answers on their way at the same time, and parts that what is untold may fall into by those that did not arrive. */
const MAX_PARTS = 64;

/**
 * What a client has not been told: all that comes, and before it what was in answers that were not sent. Two polls of one filter may be under way
 * at once, and the earlier one may be the one whose answer is not sent.
 */
export class Untold {
  /** In order; the last one has no end. */
  #spans: readonly FilterSpan[];
  readonly #answers = new Map<number, readonly FilterSpan[]>();
  #count = 0;
  /** Counts what was given back. */
  #version = 0;
  #isBroken = false;

  constructor(from: FilterCursor) {
    this.#spans = [{ from }];
  }

  get spans(): readonly FilterSpan[] {
    return this.#spans;
  }

  get version(): number {
    return this.#version;
  }

  /** Some changes were given up on: nothing that is told from now on would be whole. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** From where on events may have to be told, or told again. */
  get lowest(): number {
    let lowest = this.#spans[0]?.from.position ?? 0;
    for (const [first] of this.#answers.values()) lowest = Math.min(lowest, first?.from.position ?? lowest);
    return lowest;
  }

  /** An answer tells the spans before one of them, and that one up to a place; gives the number of the answer. */
  tell(index: number, at: FilterCursor): number {
    const answer = ++this.#count;
    const told = this.#spans.slice(0, index + 1);
    const last = told.pop();
    if (last === undefined) throw new RangeError(`there is no span ${index}`);
    this.#answers.set(answer, [...told, { from: last.from, to: at }]);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > MAX_PARTS && oldest !== undefined) this.#answers.delete(oldest);
    this.#spans = [{ from: at, to: last.to }, ...this.#spans.slice(index + 1)].filter(isSome);
    return answer;
  }

  /** An answer was sent, or was not, and what it told is to be told again. */
  settle(answer: number, isSent: boolean): void {
    const told = this.#answers.get(answer);
    this.#answers.delete(answer);
    if (isSent) return;
    this.#version++;
    this.#spans = joined([...this.#spans, ...(told ?? [])]);
    this.#isBroken ||= told === undefined || this.#spans.length > MAX_PARTS;
  }
}

function isSome({ from, to }: FilterSpan): boolean {
  return to === undefined || compare(from, to) < 0;
}

function compare(one: FilterCursor, other: FilterCursor): number {
  return one.position - other.position || one.offset - other.offset;
}

/** In order, with those that meet made one. */
function joined(spans: readonly FilterSpan[]): readonly FilterSpan[] {
  const result: FilterSpan[] = [];
  for (const span of spans.filter(isSome).sort((one, other) => compare(one.from, other.from))) {
    const before = result.at(-1);
    if (before?.to !== undefined && compare(before.to, span.from) === 0) {
      result[result.length - 1] = { from: before.from, to: span.to };
    } else result.push(span);
  }
  return result;
}
