import { expect, it } from 'vitest';
import { InlineShare } from './inline-share.ts';

/** Runs calls of so many milliseconds with pauses between them; the steps that each was given. */
function run(calls: readonly (readonly [tookMs: number, pauseMs: number, client?: string])[]): number[] {
  let now = 0;
  const share = new InlineShare(() => now);
  return calls.map(([tookMs, pauseMs, client]) => {
    const given = share.run(20_000, client, (steps) => {
      now += tookMs;
      return steps;
    });
    now += pauseMs;
    return given;
  });
}

it('gives short calls all steps, however many there are', () => {
  expect(new Set(run(Array.from({ length: 10_000 }, () => [0.9, 0])))).toEqual(new Set([20_000]));
});

it('gives fewer once long calls have taken their share, and all again after a while', () => {
  expect(
    run([
      [40, 0],
      [40, 0],
      [0, 0],
      [0, 39],
      [0, 2],
      [40, 0],
      [0, 0],
    ]),
  ).toEqual([...[20_000, 20_000, 1_250, 1_250, 1_250, 20_000, 1_250]]);
});

it('leaves them a quarter of the time', () => {
  const given = run(Array.from({ length: 1_000 }, () => [10, 30]));
  expect(given.filter((steps) => steps === 20_000).length).toBeGreaterThan(990);
});

it('gives a client fewer that has had its long calls here, and others all', () => {
  expect(
    run([
      [20, 0, 'greedy'],
      [0.5, 0, 'greedy'],
      [0.5, 0, 'other'],
      [0.5, 4_980, 'greedy'],
      [0.5, 0, 'other'],
      [0.5, 20, 'greedy'],
      [0.5, 0, 'other'],
      [0.5, 0, 'greedy'],
    ]),
  ).toEqual([20_000, 1_250, 20_000, 1_250, 20_000, 1_250, 20_000, 20_000]);
});

it('leaves a client that is alone all of its steps', () => {
  const calls = Array.from({ length: 100 }, (): readonly [number, number, string] => [4, 16, 'alone']);
  expect(new Set(run([[0, 2_000, 'other'], [0, 2_000, 'alone'], ...calls]))).toEqual(new Set([20_000]));
});
