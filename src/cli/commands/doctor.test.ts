import { expect, it } from 'vitest';
import { Section } from '../../maintenance/doctor/report.ts';
import { renderSections } from './doctor.ts';

function example(): readonly Section[] {
  const upstream = new Section('upstream http://node');
  upstream.ok('reachable', '3 ms an answer');
  upstream.warn('batches', 'refused', 'allow batches');
  const machine = new Section('this machine');
  machine.fail('disk', '1 KiB free', 'make room');
  return [upstream, machine];
}

it('prints a line a check, in columns', () => {
  expect(renderSections(example(), false)).toBe(
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

it('colours what stands in front, on a terminal only', () => {
  expect(renderSections(example(), true)).toContain('\u001b[31mfail\u001b[39m  disk ');
});
