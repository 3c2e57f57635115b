import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** Rules of the contract by number, and whether each is marked as not served yet. */
const rules = new Map(
  [...read('docs/contract.md').matchAll(/^([AB]\d+[a-z]?)\. (\*Not yet\.\*)?/gm)].map(
    ([, number, mark]) => [number ?? '', mark !== undefined] as const,
  ),
);

/** Rules that tests quote: numbers in parentheses, such as (B2, B5). */
const quoted = new Set(
  globSync(['{src,packages/*/src,test}/**/*.test.ts', 'test/**/*.ts'], { cwd: root.pathname })
    .filter((path) => !path.startsWith('test/architecture/'))
    .flatMap((path) => [...read(path).matchAll(/\(((?:[AB]\d+[a-z]?)(?:, [AB]\d+[a-z]?)*)\)/g)])
    .flatMap(([, list]) => list?.split(', ') ?? []),
);

it('reads both', () => {
  expect(rules.size).toBeGreaterThanOrEqual(29);
  expect(rules.get('A1')).toBe(false);
  expect(quoted).toContain('B1');
});

it('has each rule quoted by a test or marked as not yet, never both', () => {
  const wrong = [...rules].filter(([number, isMarked]) => isMarked === quoted.has(number));
  expect(
    wrong.map(([number, isMarked]) => `${number}: ${isMarked ? 'marked and quoted' : 'neither'}`),
  ).toEqual([]);
});

it('has every quoted rule', () => {
  expect([...quoted].filter((number) => !rules.has(number))).toEqual([]);
});
