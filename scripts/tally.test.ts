import { expect, it } from 'vitest';
import { failureLines, judgeStep, tallyOf } from './tally.ts';

it.each([
  ['our programs', 'vector a\n12 passed, 1 failed\n', { passed: 12, failed: 1 }],
  [
    'vitest, all green',
    ' Test Files  3 passed (3)\n      Tests  57 passed (57)\n',
    { passed: 57, failed: 0 },
  ],
  ['vitest, some red', '      Tests  2 failed | 55 passed (57)', { passed: 55, failed: 2 }],
  ['vitest, all red', '      Tests  2 failed (2)', { passed: 0, failed: 2 }],
  ['vitest, some skipped', '      Tests  5 passed | 1 skipped (6)', { passed: 5, failed: 0 }],
  [
    'vitest in colour',
    '\u001b[2m      Tests \u001b[22m \u001b[1m\u001b[32m7 passed\u001b[39m (7)',
    { passed: 7, failed: 0 },
  ],
  [
    'cargo, several binaries',
    'test result: ok. 5 passed; 0 failed; 0 ignored\ntest result: FAILED. 2 passed; 3 failed; 0 ignored',
    { passed: 7, failed: 3 },
  ],
])('reads the count of %s', (_, output, expected) => {
  expect(tallyOf(output)).toEqual(expected);
});

it('finds no count in other text', () => {
  expect(tallyOf('we passed, they failed\nTests are good')).toBeUndefined();
});

it.each([
  ['a check that succeeds', { tests: false, ok: true, output: '' }, { passed: 1, failed: 0 }],
  ['a check that fails', { tests: false, ok: false, output: '' }, { passed: 0, failed: 1 }],
  ['tests that pass', { tests: true, ok: true, output: '3 passed, 0 failed' }, { passed: 3, failed: 0 }],
  ['tests that fail', { tests: true, ok: false, output: '3 passed, 2 failed' }, { passed: 3, failed: 2 }],
  [
    'a crash after green tests',
    { tests: true, ok: false, output: '3 passed, 0 failed' },
    { passed: 3, failed: 1 },
  ],
  [
    'a suite without tests',
    { tests: true, ok: true, output: '0 passed, 0 failed' },
    { passed: 0, failed: 1 },
  ],
  ['a suite without a count', { tests: true, ok: true, output: '' }, { passed: 0, failed: 1 }],
])('counts %s', (_, step, expected) => {
  expect(judgeStep(step)).toEqual(expected);
});

it('says again what failed, and how the output ended', () => {
  const middle = Array.from({ length: 60 }, (_, i) => `line ${i}`);
  const output = ['seed 20261115', ' \u001b[31mFAIL\u001b[39m  a.test.ts > fails', ...middle].join('\n');
  const lines = failureLines(output);
  expect(lines.slice(0, 2)).toEqual(['seed 20261115', ' FAIL  a.test.ts > fails']);
  expect(lines.slice(2, 9)).toEqual([...Array.from({ length: 6 }, (_, at) => `line ${at}`), 'line 35']);
  expect(lines.at(-1)).toBe('line 59');
});
