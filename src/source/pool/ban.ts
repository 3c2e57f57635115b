export interface BanOptions {
  /** How long the first lie keeps an upstream out; each one after it was asked again doubles that. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Who lied, how often, and until when they are banned. After that they are asked again: all they say is checked. */
export class Bans {
  readonly #options: BanOptions;
  readonly #liars = new Map<string, { lies: number; until: number; ms: number }>();

  constructor(options: BanOptions) {
    this.#options = options;
  }

  /** Keeps an upstream out, and gives for how long. */
  add(upstream: string, now: number): number {
    const before = this.#liars.get(upstream);
    const lies = this.lies(upstream) + 1;
    const left = this.outFor(upstream, now);
    // Said before it was banned and found out after: many answers of one batch are not many offences.
    if (before !== undefined && left > 0) {
      this.#liars.set(upstream, { ...before, lies });
      return left;
    }
    const { firstMs, maxMs } = this.#options;
    const ms = Math.min(maxMs, before === undefined ? firstMs : before.ms * 2);
    this.#liars.set(upstream, { lies, until: now + ms, ms });
    return ms;
  }

  lies(upstream: string): number {
    return this.#liars.get(upstream)?.lies ?? 0;
  }

  /** Milliseconds that it stays out; 0 when it may be asked. */
  outFor(upstream: string, now: number): number {
    return Math.max(0, (this.#liars.get(upstream)?.until ?? 0) - now);
  }
}
