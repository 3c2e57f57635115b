import { stripVTControlCharacters } from 'node:util';

/** How many tests a run reported. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
}

/** Lines that close a suite: our own programs, vitest's `Tests` line, cargo's `test result`. */
const PATTERNS = [
  { line: /^(\d+) passed, (\d+) failed$/, passed: 1, failed: 2 },
  { line: /^\s*Tests\s+(?:(\d+) failed(?: \| )?)?(?:(\d+) passed)?.*\(\d+\)$/, passed: 2, failed: 1 },
  { line: /^test result: \w+\. (\d+) passed; (\d+) failed;/, passed: 1, failed: 2 },
] as const;

/** Adds up what the output of a test run reports, or gives nothing when it reports no count at all. */
export function tallyOf(output: string): Tally | undefined {
  let tally: Tally | undefined;
  for (const line of stripVTControlCharacters(output).split(/\r?\n/)) {
    for (const pattern of PATTERNS) {
      const match = pattern.line.exec(line);
      if (match === null) continue;
      tally = addTallies(tally ?? { passed: 0, failed: 0 }, {
        passed: Number(match[pattern.passed] ?? 0),
        failed: Number(match[pattern.failed] ?? 0),
      });
    }
  }
  return tally;
}

/** What a step counts for. A step that fails without saying so, or tests nothing, is one failure. */
export function judgeStep(step: {
  readonly tests: boolean;
  readonly ok: boolean;
  readonly output: string;
}): Tally {
  if (!step.tests) return step.ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
  const tally = tallyOf(step.output) ?? { passed: 0, failed: 0 };
  const silentFailure = tally.failed === 0 && (!step.ok || tally.passed === 0);
  return silentFailure ? addTallies(tally, { passed: 0, failed: 1 }) : tally;
}

/** The sum of two counts. */
export function addTallies(a: Tally, b: Tally): Tally {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed };
}

/** A line that names what failed: vitest's, cargo's, and those of our own programs. */
const FAILURE =
  /^\s*(?:FAIL|×|✗|FAILED|AssertionError|Error:|error:|thread '.*' panicked|test .* \.\.\. FAILED)|\bFAILED\b|\bseed\b.*\d{2,}/;
const FAILURES_KEPT = 120;
const LAST_KEPT = 25;
/** A line that names a failure is followed by what was expected, and by who said what. */
const FOLLOWING_KEPT = 6;

/** What a reader of the summary needs of a failed step's output: the lines that name failures, and how it ended. */
export function failureLines(output: string): readonly string[] {
  const lines = stripVTControlCharacters(output)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map((line) => line.slice(0, 300));
  const end = Math.max(lines.length - LAST_KEPT, 0);
  const isKept = (_: string, at: number): boolean =>
    lines.slice(Math.max(at - FOLLOWING_KEPT, 0), at + 1).some((line) => FAILURE.test(line));
  const named = lines.slice(0, end).filter(isKept);
  return [...named.slice(0, FAILURES_KEPT), ...lines.slice(end)];
}
