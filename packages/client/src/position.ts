/** A place in a chain: a confirmed block or, with `index`, a flashblock of a pre-confirmed one. */
export interface ChainPoint {
  readonly number: number;
  readonly index?: number | undefined;
}

/** What one answer was read from: its confirmed head, and the newest that it knows. */
export interface ChainView {
  readonly head: number;
  readonly newest: ChainPoint;
}

/** Whether `one` comes before `other`. A confirmed block contains all of its flashblocks. */
export function isBefore(one: ChainPoint, other: ChainPoint): boolean {
  if (one.number !== other.number) return one.number < other.number;
  return (one.index ?? Number.POSITIVE_INFINITY) < (other.index ?? Number.POSITIVE_INFINITY);
}

/** Reads `x-chain-head` and `x-chain-pending`; undefined where the answer names no snapshot. */
export function readView(headers: Pick<Headers, 'get'>): ChainView | undefined {
  const head = Number(/^(\d+);/.exec(headers.get('x-chain-head') ?? '')?.[1] ?? Number.NaN);
  if (Number.isNaN(head)) return undefined;
  const newest = parsePoint(headers.get('x-chain-pending') ?? '');
  return { head, newest: newest === undefined || newest.number <= head ? { number: head } : newest };
}

/** Reads `<number>` or `<number>;<index>`. */
export function parsePoint(text: string): ChainPoint | undefined {
  const [, number, index] = /^(\d{1,15})(?:;(\d{1,9}))?$/.exec(text) ?? [];
  if (number === undefined) return undefined;
  return { number: Number(number), index: index === undefined ? undefined : Number(index) };
}

/** As `x-chain-at-least` has it. */
export function formatPoint({ number, index }: ChainPoint): string {
  return index === undefined ? `${number}` : `${number};${index}`;
}

/**
 * How far a client has seen its chain. Clients that share one read as one: what either has seen, the other does not read
 * from before. A chain that begins anew, as `dev` does, needs a new one.
 */
export class ChainPosition {
  #view: ChainView | undefined;

  /** The newest point of the newest answer or message; undefined before the first. */
  get view(): ChainView | undefined {
    return this.#view;
  }

  /** Takes note of what an answer was read from. */
  see({ head, newest }: ChainView): void {
    const known = this.#view;
    this.#view =
      known === undefined
        ? { head, newest }
        : {
            head: Math.max(head, known.head),
            newest: isBefore(known.newest, newest) ? newest : known.newest,
          };
  }

  /** Takes note of a point that a message told of. */
  reach(point: ChainPoint): void {
    const head = point.index === undefined ? point.number : (this.#view?.head ?? 0);
    this.see({ head, newest: point });
  }
}
