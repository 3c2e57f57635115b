import { StateLimitError } from './errors.ts';

/** What one request may have loaded. */
export interface LoadLimits {
  /** Values that an upstream has to be asked for. */
  readonly values: number;
  /** Bytes of all values, wherever they come from. */
  readonly bytes: number;
}

/** What a value takes beside its own bytes, about: its key, and its place in memory. */
const VALUE_BYTES = 128;

/** Counts down what a request may still have loaded; past it, `StateLimitError`. */
export class LoadBudget {
  readonly #limits: LoadLimits;
  #values = 0;
  #bytes = 0;

  constructor(limits: LoadLimits) {
    this.#limits = limits;
  }

  /** To be called before an upstream is asked. */
  takeValues(count: number): void {
    this.#values += count;
    const { values: limit } = this.#limits;
    if (this.#values > limit) throw new StateLimitError({ code: 'STATE_LIMIT', what: 'values', limit });
  }

  /** To be called with what came. */
  takeBytes(values: readonly (Uint8Array | undefined)[]): void {
    for (const value of values) this.#bytes += VALUE_BYTES + (value?.length ?? 0);
    const { bytes: limit } = this.#limits;
    if (this.#bytes > limit) throw new StateLimitError({ code: 'STATE_LIMIT', what: 'bytes', limit });
  }
}
