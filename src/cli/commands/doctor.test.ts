import { expect, it } from 'vitest';
import { Section } from '../../maintenance/doctor/report.ts';
import { painter } from '../print.ts';
import { judge, renderSections } from './doctor.ts';

const plain = painter({ write: () => {} }, {});
const terminal = { isTTY: true, write: () => {} };

function example(): readonly Section[] {
  const upstream = new Section('upstream http://node');
  upstream.ok('reachable', '3 ms an answer');
  upstream.warn('batches', 'refused', 'allow batches');
  const machine = new Section('this machine');
  machine.fail('disk', '1 KiB free', 'make room');
  return [upstream, machine];
}

it('prints a line a check, in columns', () => {
  expect(renderSections(example(), { paint: plain, columns: undefined })).toBe(
    [
      'upstream http://node',
      '  ok    reachable  3 ms an answer',
      '  warn  batches    refused  → allow batches',
      '',
      'this machine',
      '  fail  disk       1 KiB free  → make room',
      '',
    ].join('\n'),
  );
});

it('stays within a narrow terminal, with what to fix on lines of its own', () => {
  const [section] = example();
  section?.warn('words', 'a server that says a great many words', 'use one that says fewer of them');
  const lines = renderSections([section ?? new Section('')], { paint: plain, columns: 50 }).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(50);
  expect(lines).toContain('                   → allow batches');
});

it('colours what stands in front, on a terminal only, and not for who wants none', () => {
  const shown = (env: Record<string, string>): string =>
    renderSections(example(), { paint: painter(terminal, env), columns: 80 });
  expect(shown({})).toContain('\u001b[31mfail\u001b[39m  disk ');
  expect(shown({ NO_COLOR: '1' })).not.toContain('\u001b');
  expect(shown({ TERM: 'dumb' })).not.toContain('\u001b');
});

it('does not obey what a server says', () => {
  const hostile = new Section('upstream http://node');
  hostile.fail('head', '\u001b[2J\u0007all is well\nready', 'use another');
  const text = renderSections([hostile], { paint: plain, columns: 80 });
  for (const letter of ['\u0007', '\u001b']) expect(text).not.toContain(letter);
  expect(text).not.toMatch(/^ready/m);
});

it('comes to a verdict', () => {
  const [upstream, machine] = example();
  const good = new Section('store');
  good.ok('store', 'at the head');
  expect(judge([good])).toEqual({ verdict: 'ready', summary: 'ready' });
  expect(judge([good, upstream ?? good])).toEqual({
    verdict: 'works',
    summary: 'works, but look at: batches (upstream http://node)',
  });
  expect(judge([upstream ?? good, machine ?? good])).toEqual({
    verdict: 'fails',
    summary: 'will not work: disk (this machine)',
  });
});
