/** Why an upstream must not be listened to. */
export type Exclusion = 'caught lying' | 'of another chain';

/** What a decision is made by, besides what was heard. */
export interface Circumstances {
  readonly now: number;
  /** Who must not be listened to. */
  readonly out: ReadonlyMap<string, Exclusion>;
  /** Whose heads are blocks of ours below our head. */
  readonly under: ReadonlySet<string>;
}

/** One decision being made: what is looked at, and what is found to be needed. */
export class Moment implements Circumstances {
  readonly now: number;
  readonly out: ReadonlyMap<string, Exclusion>;
  readonly under: ReadonlySet<string>;
  readonly ask = new Set<string>();
  wakeMs: number | undefined;

  constructor({ now, out, under }: Circumstances) {
    this.now = now;
    this.out = out;
    this.under = under;
  }

  /** Whether a time has come; when not, that is when to decide again. */
  isPast(at: number): boolean {
    if (this.now >= at) return true;
    this.wakeAt(at);
    return false;
  }

  wakeAt(at: number): void {
    this.wakeMs = Math.min(this.wakeMs ?? Number.POSITIVE_INFINITY, at - this.now);
  }
}
