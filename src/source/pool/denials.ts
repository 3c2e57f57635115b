import { type BackOff, fullBackOffMs } from '../clock.ts';

/** What an upstream refused, and is not asked for. Servers learn: after a while it is tried again, later each time. */
export class Denials {
  readonly #backOff: BackOff;
  readonly #denied = new Map<string, { readonly times: number; readonly until: number }>();

  constructor(backOff: BackOff) {
    this.#backOff = backOff;
  }

  deny(what: string, now: number): void {
    // Of many calls on their way that are refused together, one counts.
    if (this.isDenied(what, now)) return;
    const times = (this.#denied.get(what)?.times ?? 0) + 1;
    this.#denied.set(what, { times, until: now + fullBackOffMs(this.#backOff, times) });
  }

  isDenied(what: string, now: number): boolean {
    return (this.#denied.get(what)?.until ?? now) > now;
  }

  /** Whoever answers now may be another server. */
  clear(): void {
    this.#denied.clear();
  }
}
