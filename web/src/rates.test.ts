import { expect, it } from 'vitest';
import { percentile } from './rates.ts';

it('finds percentiles within buckets, and none of nothing', () => {
  const bounds = [0.001, 0.01, 0.1];
  expect(percentile([0, 0, 0, 0], bounds, 0.5)).toBeUndefined();
  expect(percentile([10, 0, 0, 0], bounds, 0.5)).toBeCloseTo(0.0005);
  expect(percentile([5, 5, 0, 0], bounds, 0.99)).toBeCloseTo(0.00982);
  // Above the last bound nothing is known but that.
  expect(percentile([0, 0, 0, 3], bounds, 0.5)).toBe(0.1);
});
