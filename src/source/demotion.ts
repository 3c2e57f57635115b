import type { Lie } from './interface.ts';

export interface DemotionOptions {
  /** How long the first lie keeps an upstream out; each further one doubles it. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** Items remembered with who lied about them. */
  readonly maxItems: number;
}

/** Who lied, how often, about what, and until when they are kept out. */
export class Demotions {
  readonly #options: DemotionOptions;
  readonly #liars = new Map<string, { lies: number; until: number }>();
  readonly #liarsByItem = new Map<string, Set<string>>();

  constructor(options: DemotionOptions) {
    this.#options = options;
  }

  /** Keeps an upstream out, and gives for how long. */
  add(upstream: string, lie: Lie, now: number): number {
    const lies = this.lies(upstream) + 1;
    const ms = Math.min(this.#options.maxMs, this.#options.firstMs * 2 ** Math.min(lies - 1, 30));
    this.#liars.set(upstream, { lies, until: now + ms });
    const liars = this.#liarsByItem.get(lie.item) ?? new Set();
    liars.add(upstream);
    // Put last: the item that was lied about longest ago is forgotten first.
    this.#liarsByItem.delete(lie.item);
    this.#liarsByItem.set(lie.item, liars);
    if (this.#liarsByItem.size > this.#options.maxItems) {
      const [oldest] = this.#liarsByItem.keys();
      if (oldest !== undefined) this.#liarsByItem.delete(oldest);
    }
    return ms;
  }

  lies(upstream: string): number {
    return this.#liars.get(upstream)?.lies ?? 0;
  }

  /** Milliseconds that it stays out; 0 when it may be asked. */
  outFor(upstream: string, now: number): number {
    return Math.max(0, (this.#liars.get(upstream)?.until ?? 0) - now);
  }

  liedAbout(upstream: string, item: string | undefined): boolean {
    return item !== undefined && this.#liarsByItem.get(item)?.has(upstream) === true;
  }
}
