import { describe, expect, it } from 'vitest';
import { StateLimitError } from './errors.ts';
import { LoadBudget } from './load-budget.ts';

describe('LoadBudget', () => {
  it('lets a request have as many values as it may, in as many parts as it likes', () => {
    const budget = new LoadBudget({ values: 10, bytes: 1_000 });
    budget.takeValues(6);
    budget.takeValues(4);
    expect(() => budget.takeValues(1)).toThrow(StateLimitError);
  });

  it('counts bytes, and each value for something', () => {
    const budget = new LoadBudget({ values: 10, bytes: 10_000 });
    budget.takeBytes([new Uint8Array(9_000), undefined]);
    expect(() => budget.takeBytes([new Uint8Array(1_000)])).toThrow(StateLimitError);
    const many = new LoadBudget({ values: 10, bytes: 10_000 });
    expect(() => many.takeBytes(Array.from({ length: 1_000 }, () => undefined))).toThrow(StateLimitError);
  });
});
