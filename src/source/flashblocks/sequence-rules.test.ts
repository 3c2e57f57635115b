import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { RULES } from './sequence-rules.ts';

const DOCS = new URL('../../../docs/preconfirmations.md', import.meta.url);

it('is the table that docs/preconfirmations.md shows', () => {
  const rows = RULES.map(
    ({ when, decision, effect }, at) => `| ${at + 1} | ${when} | **${decision}** | ${effect} |`,
  );
  const shown = readFileSync(DOCS, 'utf8')
    .split('\n')
    .filter((line) => /^\| \d+ \|/.test(line));
  expect(shown).toEqual(rows);
});
