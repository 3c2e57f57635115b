import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { intersect, union } from '../../postings.ts';
import { chooseDriver, type Lane, PAUSE, type Paused, worthIntersecting } from './plan.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** A lane of `rows` rows in buckets 0, 1, 2…, read ten at a time. */
class FakeLane implements Lane {
  readonly values: number;
  readonly #rows: number;
  readonly #rowBytes: number;
  rowsRead = 0;
  advances = 0;

  constructor(rows: number, rowBytes: number, values = 1) {
    this.#rows = rows;
    this.#rowBytes = rowBytes;
    this.values = values;
  }

  get bytesRead(): number {
    return this.rowsRead * this.#rowBytes;
  }

  get exhausted(): boolean {
    return this.advances > 0 && this.rowsRead === this.#rows;
  }

  get horizon(): number {
    return this.exhausted ? Number.POSITIVE_INFINITY : this.rowsRead - 1;
  }

  isShorterThan(limit: number): boolean {
    return this.#rows < limit;
  }

  *advance(): Paused<void> {
    this.advances++;
    yield PAUSE;
    this.rowsRead = Math.min(this.#rows, this.rowsRead + 10);
  }
}

/** Runs to the end, however often it pauses. */
function finish<T>(work: Paused<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

describe(`planner (seed ${seed})`, () => {
  it('has no driver without constraints and reads nothing for one', () => {
    expect(finish(chooseDriver([], 0))).toBeUndefined();
    const only = new FakeLane(5, 10);
    expect(finish(chooseDriver([only], 0))).toBe(only);
    expect(only.advances).toBe(0);
  });

  it('drives by the lane that ends first, and reads little of the others', () => {
    const hot = new FakeLane(1_000_000, 4000);
    const warm = new FakeLane(1_000, 100);
    const rare = new FakeLane(25, 3);
    expect(finish(chooseDriver([hot, warm, rare], 0))).toBe(rare);
    expect(hot.advances).toBeLessThanOrEqual(3);
    expect(warm.advances).toBeLessThanOrEqual(3);
  });

  it('does not open a long list of alternatives when one value ends at once', () => {
    const list = new FakeLane(1_000_000, 10, 1000);
    const rare = new FakeLane(2, 3);
    expect(finish(chooseDriver([list, rare], 0))).toBe(rare);
    expect(list.advances).toBe(0);
  });

  it('reads no other lane at all beside one of a few rows', () => {
    const hot = new FakeLane(1_000_000, 4000);
    const rare = new FakeLane(3, 3);
    expect(finish(chooseDriver([hot, rare], 0))).toBe(rare);
    expect(hot.advances).toBe(0);
    expect(worthIntersecting(3, hot, 0)).toBe(false);
    expect(worthIntersecting(100, hot, 0)).toBe(true);
  });

  it('drives by the thinnest of lanes that are all long', () => {
    const thick = new FakeLane(1_000_000, 4000);
    const thin = new FakeLane(1_000_000, 300);
    expect(finish(chooseDriver([thick, thin], 0))).toBe(thin);
    expect(thick.rowsRead + thin.rowsRead).toBeLessThan(200);
  });

  it('reads another lane only where that spares more than it costs', () => {
    const hot = new FakeLane(1_000_000, 4000);
    finish(hot.advance());
    expect(worthIntersecting(1, hot, 5)).toBe(false);
    expect(worthIntersecting(1, hot, 500)).toBe(false);
    expect(worthIntersecting(200, hot, 500)).toBe(true);
    const small = new FakeLane(3, 4);
    finish(small.advance());
    expect(worthIntersecting(1, small, 500)).toBe(true);
  });

  it('intersects and merges as sets do', () => {
    const list = fc.uniqueArray(fc.nat(60)).map((values) => values.toSorted((a, b) => a - b));
    fc.assert(
      fc.property(list, list, (a, b) => {
        const both = [...a];
        intersect(both, b);
        expect(both).toEqual(a.filter((value) => b.includes(value)));
        expect(union([...b, ...a])).toEqual([...new Set([...a, ...b])].toSorted((x, y) => x - y));
      }),
      { seed },
    );
  });
});
