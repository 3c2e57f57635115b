import { StoreError } from '../error.ts';
import { outOfRange } from '../marks.ts';
import type { Root } from './root.ts';
import { Tail } from './tail.ts';

/** A clock that no change of the time moves, the same in all threads of the process. */
export function steadyMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A read under way. What happens to the chain meanwhile may make it impossible to finish. */
export class Reading {
  readonly from: number;
  readonly to: number;
  #failure: StoreError | undefined;

  constructor(from: number, to: number) {
    this.from = from;
    this.to = to;
  }

  /** Throws when what was read is not of one chain. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  fail(failure: StoreError): void {
    this.#failure ??= failure;
  }
}

/** What can be seen of a chain now: the root row, the blocks that are not indexed, and who is reading. */
export class View {
  readonly tail = new Tail();
  readonly #readings = new Set<Reading>();
  readonly #maxAgeMs: number;
  #confirmedAt = steadyMs();
  #root: Root | undefined;

  /** A view that is older than `maxAgeMs` is not answered from. */
  constructor(maxAgeMs = Number.POSITIVE_INFINITY) {
    this.#maxAgeMs = maxAgeMs;
  }

  /** The root row that is answered from; throws when that was seen too long ago. */
  get root(): Root | undefined {
    const ageMs = steadyMs() - this.#confirmedAt;
    if (ageMs > this.#maxAgeMs)
      throw new StoreError('unavailable', `the store was last heard of ${Math.round(ageMs)} ms ago`);
    return this.#root;
  }

  /** The same, whenever it was seen. */
  get shown(): Root | undefined {
    return this.#root;
  }

  /** Says that the root row was this one when it was asked for, by the steady clock. */
  confirm(asked: number): void {
    this.#confirmedAt = asked;
  }

  /** Does a read of blocks or state `from`..`to`; fails when they are taken off or forgotten meanwhile. */
  async read<T>(from: number, to: number, work: (reading: Reading) => Promise<T>): Promise<T> {
    const reading = this.begin(from, to);
    try {
      const result = await work(reading);
      reading.check();
      return result;
    } catch (error) {
      // Rows that were missing for it are no damage.
      reading.check();
      throw error;
    } finally {
      this.end(reading);
    }
  }

  begin(from: number, to: number): Reading {
    const reading = new Reading(from, to);
    this.#readings.add(reading);
    return reading;
  }

  end(reading: Reading): void {
    this.#readings.delete(reading);
  }

  /** Shows another state of the chain; the tail is changed by whoever calls this, in the same turn. */
  show(root: Root): void {
    const before = this.#root;
    this.#root = root;
    if (before === undefined) return;
    const { marks } = root;
    for (const reading of this.#readings) {
      if (root.copy !== before.copy) reading.fail(reorganised(reading.to));
      else if (reading.from < marks.lowest.number) reading.fail(outOfRange(`block ${reading.from}`, marks));
    }
  }

  /** Says that every block above `number` is taken off. */
  reverted(number: number): void {
    for (const reading of this.#readings) if (reading.to > number) reading.fail(reorganised(reading.to));
  }
}

function reorganised(number: number): StoreError {
  return new StoreError('reorganised', `block ${number} is no longer canonical`);
}
