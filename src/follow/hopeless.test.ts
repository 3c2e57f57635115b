import { expect, it } from 'vitest';
import { mostTelling, SourceError, type SourceErrorCode } from '../source/errors.ts';
import { FinalizedError, TooDeepError } from './errors.ts';
import { blameFor, Hopelessness, OTHER_FORK, STATE_GONE } from './hopeless.ts';

const AFTER = 600_000;
const said = (upstream: string, code: SourceErrorCode): SourceError =>
  new SourceError({ code, upstream }, code);

it('takes the same reason from everybody, for long, and said again', () => {
  const hopeless = new Hopelessness(AFTER, 2);
  const all = new Map([
    ['a', STATE_GONE],
    ['b', STATE_GONE],
  ] as const);
  hopeless.failed(all, 0);
  expect(hopeless.verdict(['a', 'b'])).toBeUndefined();
  hopeless.failed(all, AFTER - 1);
  expect(hopeless.verdict(['a', 'b'])).toBeUndefined();
  hopeless.failed(new Map([['a', STATE_GONE]]), AFTER);
  expect(hopeless.verdict(['a', 'b'])).toBeUndefined();
  hopeless.failed(all, AFTER);
  expect(hopeless.verdict(['a', 'b'])).toBe(STATE_GONE);
  // Nobody to ask is nobody's word.
  expect(hopeless.verdict([])).toBeUndefined();
});

it('begins again with any other reason, with any success, and with whoever was away', () => {
  const long = (between: (hopeless: Hopelessness) => void): unknown => {
    const hopeless = new Hopelessness(AFTER, 2);
    hopeless.failed(new Map([['a', STATE_GONE]]), 0);
    between(hopeless);
    hopeless.failed(new Map([['a', STATE_GONE]]), AFTER);
    return hopeless.verdict(['a']);
  };
  expect(long(() => {})).toBe(STATE_GONE);
  expect(long((hopeless) => hopeless.clear())).toBeUndefined();
  expect(long((hopeless) => hopeless.failed(new Map([['a', undefined]]), 1))).toBeUndefined();
  expect(long((hopeless) => hopeless.failed(new Map([['a', OTHER_FORK]]), 1))).toBeUndefined();
  expect(long((hopeless) => hopeless.verdict([]))).toBeUndefined();
});

it('takes different reasons for different things', () => {
  const hopeless = new Hopelessness(0, 2);
  hopeless.failed(
    new Map([
      ['a', STATE_GONE],
      ['b', OTHER_FORK],
    ] as const),
    0,
  );
  expect(hopeless.verdict(['a', 'b'])).toBeUndefined();
  expect(hopeless.verdict(['a'])).toBe(STATE_GONE);
});

it('does not take the word of one of several for which fork is right', () => {
  const verdictOf = (upstreams: number, heard: readonly string[]): unknown => {
    const hopeless = new Hopelessness(0, upstreams);
    hopeless.failed(new Map(heard.map((name) => [name, OTHER_FORK])), 0);
    return hopeless.verdict(heard);
  };
  expect(verdictOf(1, ['a'])).toBe(OTHER_FORK);
  expect(verdictOf(2, ['a'])).toBeUndefined();
  expect(verdictOf(3, ['a'])).toBeUndefined();
  expect(verdictOf(3, ['a', 'c'])).toBe(OTHER_FORK);
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
