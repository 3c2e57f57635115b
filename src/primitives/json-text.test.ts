import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Complexity, exceeds } from './json-text.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

it('exceeds counts arrays and objects, values and names, but not what strings hold', () => {
  const deep = (text: string, depth: number): boolean => exceeds(text, { depth, elements: 99 }) === 'depth';
  expect(deep('[[{}]]', 2)).toBe(true);
  expect(deep('[[{}]]', 3)).toBe(false);
  expect(deep('["[[[[\\"[[[",[]]', 2)).toBe(false);
  expect(deep('"[[[[', 0)).toBe(false);
  const many = (text: string, elements: number): boolean =>
    exceeds(text, { depth: 9, elements }) === 'elements';
  expect(many('{"a":1,"b":[2,3]}', 6)).toBe(false);
  expect(many('{"a":1,"b":[2,3]}', 5)).toBe(true);
  expect(many('["a,b,c:d","e"]', 2)).toBe(false);
});

it(`says of whatever JSON how deep it is and how much it holds (TEST_SEED=${seed})`, () => {
  const measure = (value: unknown): Complexity => {
    if (typeof value !== 'object' || value === null) return { depth: 0, elements: 0 };
    const entries = Object.values(value).map(measure);
    const inner = entries.reduce((all, { elements }) => all + elements, 0);
    return {
      depth: 1 + Math.max(0, ...entries.map(({ depth }) => depth)),
      // An empty one counts as one with an entry. Names count too.
      elements: inner + Math.max(1, entries.length) + (Array.isArray(value) ? 0 : entries.length),
    };
  };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1, 2), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      const { depth, elements } = measure(value);
      expect(exceeds(text, { depth, elements })).toBe(undefined);
      if (depth > 0) expect(exceeds(text, { depth: depth - 1, elements })).toBe('depth');
      if (elements > 0) expect(exceeds(text, { depth, elements: elements - 1 })).toBe('elements');
    }),
    { seed, numRuns: 300 },
  );
});

it(`ends on any text (TEST_SEED=${seed})`, () => {
  const unit = fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', ':', 'a', '\u{1f600}');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 200 }), (text) => {
      expect([undefined, 'depth', 'elements']).toContain(exceeds(text, { depth: 5, elements: 50 }));
    }),
    { seed, numRuns: 500 },
  );
});
