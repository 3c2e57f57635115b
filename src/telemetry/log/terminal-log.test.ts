import { expect, it } from 'vitest';
import { terminalLine } from './terminal-log.ts';

it('has the words of an error, and no stack', () => {
  const err = { message: 'no room', stack: ['a', 'b'] };
  const line = JSON.stringify({
    level: 'warn',
    time: '2026-01-02T03:04:05.678Z',
    err,
    tries: 2,
    msg: 'cannot write',
  });
  expect(terminalLine(line)).toMatch(/^\d\d:\d\d:\d\d warn {2}cannot write: no room {2}\{"tries":2\}\n$/);
});

it('does not obey what is logged', () => {
  const line = JSON.stringify({ level: 'info', time: 0, msg: 'a\u001b[2J\nready "x"', of: '\u001b' });
  expect(terminalLine(line)).not.toContain('\u001b');
  expect(terminalLine(line).split('\n')).toHaveLength(2);
});
