import fc from 'fast-check';

type Change = (value: unknown) => unknown;

const hexOf = (length: number): string => `0x${'1'.repeat(length)}`;
const replaced: readonly unknown[] = [
  ...[null, true, false, 0, 1, -1, 1.5, 1e21, '', '0', '0x', '0x0', '0X1', '0x00', '-0x1', ' 0x1', '１'],
  ...['latest', 'newest', 'LATEST', [], {}, [null], [[]], ['0x1'], { a: 1 }, { __proto__: null }],
  ...[15, 16, 17, 39, 40, 41, 63, 64, 65, 66, 128].map(hexOf),
  ...['0x7fffffffffffffff', '0x8000000000000000', '0xffffffffffffffff', '18446744073709551616'],
];
const spelt: readonly ((text: string) => string)[] = [
  (text) => text.slice(0, -1),
  (text) => `${text}0`,
  (text) => `${text}g`,
  (text) => `${text} `,
  (text) => text.toUpperCase(),
  (text) => text.replace(/^0x/i, ''),
  (text) => text.replace(/^0x/i, '0x0'),
  (text) => `"${text}"`,
];

const change: fc.Arbitrary<Change> = fc.oneof<fc.Arbitrary<Change>[]>(
  fc.constantFrom(...replaced).map((value) => () => value),
  fc.constantFrom(...spelt).map((spell) => (value) => (typeof value === 'string' ? spell(value) : value)),
  fc.constantFrom(...replaced).map((more) => (value) => {
    if (Array.isArray(value)) return [...value, more];
    return typeof value === 'object' && value !== null ? { ...value, more } : [value];
  }),
  fc.nat().map((at) => (value) => {
    if (Array.isArray(value)) return value.toSpliced(at % (value.length + 1), 1);
    if (typeof value !== 'object' || value === null) return value;
    const gone = Object.keys(value)[at % (Object.keys(value).length + 1)];
    return Object.fromEntries(Object.entries(value).filter(([name]) => name !== gone));
  }),
  fc.constantFrom(...spelt).map((spell) => (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const [first, ...rest] = Object.entries(value);
    return first === undefined ? value : Object.fromEntries([[spell(first[0]), first[1]], ...rest]);
  }),
);

/** For tests only: a JSON value that differs from one of `values` in one or two places, or not at all. */
export function mutantOf(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(values, fc.array(fc.tuple(fc.nat(), change), { minLength: 1, maxLength: 2 }))
    .map(([value, changes]) =>
      changes.reduce<unknown>((made, [at, apply]) => changedAt(made, at % placesIn(made), apply), value),
    );
}

/** How many values there are in a value, itself included. */
function placesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + placesIn(one), 1);
}

/** The value with another at one of its places, counted from itself on. */
function changedAt(value: unknown, place: number, apply: Change): unknown {
  if (place === 0) return apply(value);
  let left = place - 1;
  const entries = Object.entries(value as object).map(([name, one]): [string, unknown] => {
    const here = left >= 0 && left < placesIn(one);
    const made = here ? changedAt(one, left, apply) : one;
    left -= placesIn(one);
    return [name, made];
  });
  return Array.isArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries);
}
