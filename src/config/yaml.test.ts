import { expect, it } from 'vitest';
import { UsageError } from './usage-error.ts';
import { plainValue, readYaml } from './yaml.ts';

it.each([
  ['a: 1\nb: [2, x]', { a: 1, b: [2, 'x'] }],
  ['{"a": {"b": null}}', { a: { b: null } }],
  ['- a: 1\n- a: 2', [{ a: 1 }, { a: 2 }]],
  ['a: { c: 1 }\nb: { c: 2 }', { a: { c: 1 }, b: { c: 2 } }],
  ['# nothing', null],
])('reads %j', (text, value) => {
  expect(plainValue(readYaml(text))).toEqual(value);
});

it.each([
  ['a: 1\nb: 2\na: 3', 'the file is not YAML: duplicate key in line 3'],
  ['a:\n  b: { c: 1,\n    c: 2 }', 'the file is not YAML: duplicate key in line 3'],
  ['a: 1\n\n  : [', 'the file is not YAML: bad indent in line 3'],
  ['a: &x 1\nb: *x', 'the file must not use aliases'],
])('refuses %j', (text, message) => {
  expect(() => plainValue(readYaml(text, 'the file'), 'the file')).toThrow(new UsageError(message));
});

it('takes a time that grows with the file, whatever is in it', { timeout: 12_000 }, () => {
  const lines = (count: number, line: (at: number) => string): string =>
    Array.from({ length: count }, (_, at) => line(at)).join('\n');
  // The library alone takes 18 s for the first.
  expect(() => readYaml(lines(40_000, (at) => `key${at}: ${at}`))).not.toThrow();
  expect(() => readYaml(`a: [\n${lines(20_000, () => '- *a')}`)).toThrow(UsageError);
});
