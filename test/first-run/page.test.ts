import { describe, expect, it } from 'vitest';
import { isAsPrinted, stepsOf } from './page.ts';

/** Whole when quotes are: enough of bash for these. */
const isWhole = (text: string): boolean => (text.match(/'/g) ?? []).length % 2 === 0;
const fence = '```';
const pageOf = (language: string, ...lines: string[]): string =>
  ['# A page', '', fence + language, ...lines, fence, ''].join('\n');

describe('stepsOf', () => {
  it('finds commands, where they are and what they print', () => {
    const page = pageOf(
      'sh',
      '# a comment',
      'cd here',
      'curl \\',
      '  there',
      '# one',
      '# two',
      '',
      '# another comment',
      "echo 'a",
      "# b'",
      '# a',
      '# # b',
    );
    expect(stepsOf(page, isWhole)).toEqual([
      { kind: 'command', line: 5, text: 'cd here', expected: undefined, stays: false },
      { kind: 'command', line: 6, text: 'curl \\\n  there', expected: 'one\ntwo', stays: false },
      { kind: 'command', line: 12, text: "echo 'a\n# b'", expected: 'a\n# b', stays: false },
    ]);
  });

  it.each([
    ['npx chain-query dev', true],
    ['npx --yes chain-query serve --data d \\\n  --upstream http://a', true],
    ['chain-query serve --help', false],
    ['npm install chain-query', false],
    ['chain-query doctor', false],
    ['npx chain-query dev &', false],
  ])('knows whether %s stays up: %s', (command, stays) => {
    expect(stepsOf(pageOf('sh', ...command.split('\n')), isWhole)).toMatchObject([{ stays }]);
  });

  it('lets only the last command of a block stay up', () => {
    const steps = stepsOf(pageOf('sh', 'npx chain-query dev', 'echo up'), isWhole);
    expect(steps).toMatchObject([{ stays: false }, { stays: false }]);
  });

  it('takes programs that are marked, and leaves other blocks', () => {
    const program = pageOf('ts', '// run', 'import a', 'b()');
    expect(stepsOf(program, isWhole)).toEqual([{ kind: 'program', line: 4, text: 'import a\nb()' }]);
    for (const language of ['ts', 'json', 'yaml', 'bash', ''])
      expect(stepsOf(pageOf(language, 'x'), isWhole)).toEqual([]);
  });

  it('reads blocks that are indented, as in lists', () => {
    const page = ['1. do', '', `   ${fence}sh`, '   echo a', '   # a', `   ${fence}`].join('\n');
    expect(stepsOf(page, isWhole)).toMatchObject([{ text: 'echo a', expected: 'a' }]);
  });

  it('refuses what has no end', () => {
    expect(() => stepsOf(`${fence}sh\necho`, isWhole)).toThrow('a block of the page has no end');
    expect(() => stepsOf(pageOf('sh', "echo 'a"), isWhole)).toThrow('line 4: the command has no end');
  });
});

describe('isAsPrinted', () => {
  it.each([
    ['a', ' a \n', true],
    ['a', 'b', false],
    ['a\nb', 'a  \r\nb\n', true],
    ['{"result":"…"}', '{"result":"0x1"}', true],
    ['HTTP/1.1 200 OK\n…\n\n…', 'HTTP/1.1 200 OK\nx: y\n\n[]', true],
    ['a.c', 'abc', false],
    ['a…c', 'ab', false],
  ])('holds %j against %j: %s', (expected, printed, holds) => {
    expect(isAsPrinted(expected, printed)).toBe(holds);
  });
});
