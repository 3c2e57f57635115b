import { describe, expect, it } from 'vitest';
import { holds, refused } from './licences.ts';

describe('holds', () => {
  const isAllowed = (licence: string): boolean => ['A', 'B'].includes(licence);
  it.each([
    ['A', true],
    ['X', false],
    ['', false],
    ['A OR X', true],
    ['X OR A', true],
    ['X/A', true],
    ['X / Y', false],
    ['A AND X', false],
    ['A AND B', true],
    ['(X OR A) AND B', true],
    ['(X OR Y) AND B', false],
    ['A AND X OR B', true],
    ['A WITH E OR X', true],
    ['X WITH E', false],
    ['(A', false],
    ['A B', false],
    ['SEE LICENSE IN file', false],
  ])('%j: %s', (expression, holding) => {
    expect(holds(expression, isAllowed)).toBe(holding);
  });
});

describe('refused', () => {
  it('refuses what is missing or unknown, and what may not be passed on', () => {
    expect(
      refused([
        { name: 'a', licence: 'MIT', ships: true },
        { name: 'b', licence: undefined, ships: false },
        { name: 'c', licence: 'GPL-3.0-only', ships: false },
        { name: 'd', licence: 'MPL-2.0', ships: false },
        { name: 'e', licence: 'MPL-2.0', ships: true },
        { name: 'memorystream', licence: undefined, ships: false },
      ]),
    ).toEqual([
      'b names no licence',
      'c has a licence that is not allowed: GPL-3.0-only',
      'e has a licence that is not allowed: MPL-2.0',
    ]);
  });
});
