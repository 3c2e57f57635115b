import { SourceError } from '../source/errors.ts';
import { TooDeepError } from './errors.ts';

/** Why a copy cannot go on, whatever is tried. */
export const STATE_GONE = 'no upstream has the state of our head any more';
export const OTHER_FORK = 'every upstream is on another fork';
export type ReanchorReason = typeof STATE_GONE | typeof OTHER_FORK;

interface Record {
  readonly reason: ReanchorReason;
  /** It can only become worse. */
  readonly isLasting: boolean;
  readonly first: number;
  readonly last: number;
}

/** What each upstream had to do with a failure: a reason to re-anchor, or anything else. */
export type Blame = ReadonlyMap<string, ReanchorReason | undefined>;

/** What nothing but another upstream can help against is waited for so much shorter. */
const LASTING_SHARE = 10;

/**
 * Counts how long upstreams have given nothing but one reason to re-anchor. A copy is not thrown away because one of them
 * says so, nor for what may pass.
 */
export class ReanchorReasons {
  readonly #afterMs: number;
  /** Upstreams that there are, whether they can be asked or not. */
  readonly #upstreams: number;
  readonly #records = new Map<string, Record>();

  constructor(afterMs: number, upstreams: number) {
    this.#afterMs = afterMs;
    this.#upstreams = upstreams;
  }

  /** Something was reached, whoever helped. */
  clear(): void {
    this.#records.clear();
  }

  /** `lasting` are those whose reason can only become worse. */
  failed(blame: Blame, now: number, lasting: ReadonlySet<string> = new Set()): void {
    for (const [upstream, reason] of blame) {
      const before = this.#records.get(upstream);
      if (reason === undefined) this.#records.delete(upstream);
      else {
        const first = before?.reason === reason ? before.first : now;
        this.#records.set(upstream, { reason, isLasting: lasting.has(upstream), first, last: now });
      }
    }
  }

  /** The reason that all of these upstreams, who can be asked, have given, and given again, for long enough. */
  agreed(upstreams: readonly string[]): ReanchorReason | undefined {
    // One that cannot be asked now begins again when it can.
    for (const upstream of this.#records.keys())
      if (!upstreams.includes(upstream)) this.#records.delete(upstream);
    const records = upstreams.map((upstream) => this.#records.get(upstream));
    const [first] = records;
    const isLasting = records.every((record) => record?.isLasting === true);
    const afterMs = isLasting ? this.#afterMs / LASTING_SHARE : this.#afterMs;
    const isAgreed = records.every(
      (record) =>
        record?.reason === first?.reason && record !== undefined && record.last - record.first >= afterMs,
    );
    // Which fork is the right one is not for one of several to say.
    const isAlone = first?.reason === OTHER_FORK && upstreams.length < Math.min(2, this.#upstreams);
    return isAgreed && !isAlone ? first?.reason : undefined;
  }
}

/** Who is to blame for an error that came up on the way to a head of `upstream`. */
export function blameFor(error: unknown, upstream: string): Blame {
  if (error instanceof TooDeepError) return new Map([[upstream, OTHER_FORK]]);
  const failures = error instanceof SourceError ? partsOf(error) : [];
  const blame = new Map<string, ReanchorReason | undefined>([[upstream, undefined]]);
  for (const { type } of failures) {
    const reason = type.code === 'stateUnavailable' ? STATE_GONE : undefined;
    if (type.upstream !== undefined) blame.set(type.upstream, reason);
  }
  return blame;
}

/** What each upstream said, of an error that stands for several. */
function partsOf(error: SourceError): readonly SourceError[] {
  const { cause } = error;
  return cause instanceof AggregateError ? (cause.errors as readonly SourceError[]) : [error];
}
