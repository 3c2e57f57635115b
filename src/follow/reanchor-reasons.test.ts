import { expect, it } from 'vitest';
import { mostTelling, SourceError, type SourceErrorCode } from '../source/errors.ts';
import { FinalizedError, TooDeepError } from './errors.ts';
import { blameFor, OTHER_FORK, ReanchorReasons, STATE_GONE } from './reanchor-reasons.ts';

const AFTER = 600_000;
const said = (upstream: string, code: SourceErrorCode): SourceError =>
  new SourceError({ code, upstream }, code);

it('takes the same reason from everybody, for long, and said again', () => {
  const reasons = new ReanchorReasons(AFTER, 2);
  const all = new Map([
    ['a', STATE_GONE],
    ['b', STATE_GONE],
  ] as const);
  reasons.failed(all, 0);
  expect(reasons.agreed(['a', 'b'])).toBeUndefined();
  reasons.failed(all, AFTER - 1);
  expect(reasons.agreed(['a', 'b'])).toBeUndefined();
  reasons.failed(new Map([['a', STATE_GONE]]), AFTER);
  expect(reasons.agreed(['a', 'b'])).toBeUndefined();
  reasons.failed(all, AFTER);
  expect(reasons.agreed(['a', 'b'])).toBe(STATE_GONE);
  // Nobody to ask is nobody's word.
  expect(reasons.agreed([])).toBeUndefined();
});

it('begins again with any other reason, with any success, and with whoever was away', () => {
  const long = (between: (reasons: ReanchorReasons) => void): unknown => {
    const reasons = new ReanchorReasons(AFTER, 2);
    reasons.failed(new Map([['a', STATE_GONE]]), 0);
    between(reasons);
    reasons.failed(new Map([['a', STATE_GONE]]), AFTER);
    return reasons.agreed(['a']);
  };
  expect(long(() => {})).toBe(STATE_GONE);
  expect(long((reasons) => reasons.clear())).toBeUndefined();
  expect(long((reasons) => reasons.failed(new Map([['a', undefined]]), 1))).toBeUndefined();
  expect(long((reasons) => reasons.failed(new Map([['a', OTHER_FORK]]), 1))).toBeUndefined();
  expect(long((reasons) => reasons.agreed([]))).toBeUndefined();
});

it('takes different reasons for different things', () => {
  const reasons = new ReanchorReasons(0, 2);
  reasons.failed(
    new Map([
      ['a', STATE_GONE],
      ['b', OTHER_FORK],
    ] as const),
    0,
  );
  expect(reasons.agreed(['a', 'b'])).toBeUndefined();
  expect(reasons.agreed(['a'])).toBe(STATE_GONE);
});

it('does not take the word of one of several for which fork is right', () => {
  const agreedOf = (upstreams: number, heard: readonly string[]): unknown => {
    const reasons = new ReanchorReasons(0, upstreams);
    reasons.failed(new Map(heard.map((name) => [name, OTHER_FORK])), 0);
    return reasons.agreed(heard);
  };
  expect(agreedOf(1, ['a'])).toBe(OTHER_FORK);
  expect(agreedOf(2, ['a'])).toBeUndefined();
  expect(agreedOf(3, ['a'])).toBeUndefined();
  expect(agreedOf(3, ['a', 'c'])).toBe(OTHER_FORK);
});

it('knows who said what', () => {
  expect(blameFor(new TooDeepError(''), 'a')).toEqual(new Map([['a', OTHER_FORK]]));
  // What is final is not given up for anybody.
  expect(blameFor(new FinalizedError(''), 'a')).toEqual(new Map([['a', undefined]]));
  expect(blameFor(said('a', 'stateUnavailable'), 'a')).toEqual(new Map([['a', STATE_GONE]]));
  expect(blameFor(said('b', 'unreachable'), 'a')).toEqual(
    new Map([
      ['a', undefined],
      ['b', undefined],
    ]),
  );
  const both = mostTelling([said('a', 'stateUnavailable'), said('b', 'stateUnavailable')]);
  expect(blameFor(both, 'a')).toEqual(
    new Map([
      ['a', STATE_GONE],
      ['b', STATE_GONE],
    ]),
  );
  const one = mostTelling([said('a', 'stateUnavailable'), said('b', 'timeout')]);
  expect(blameFor(one, 'a')).toEqual(
    new Map([
      ['a', STATE_GONE],
      ['b', undefined],
    ]),
  );
  expect(blameFor(new Error('bug'), 'a')).toEqual(new Map([['a', undefined]]));
});
