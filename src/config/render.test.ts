import { expect, it } from 'vitest';
import { renderCommandHelp, renderHelp, renderOptionsPage } from './render.ts';
import { flagOf, OPTION_ROWS, variableOf } from './rows.ts';
import { COMMANDS } from './spec.ts';

it('lists every command and no other', () => {
  const listed = [...renderHelp().matchAll(/^ {2}(\w+)/gm)].map((match) => match[1]);
  expect(listed).toEqual(Object.keys(COMMANDS));
});

it('lists only the options of the command', () => {
  const help = renderCommandHelp('import');
  expect(help).toMatch(/--genesis FILE +Genesis file.* \[required\]/);
  expect(help).not.toContain('--public');
});

it('documents every option once', () => {
  const page = renderOptionsPage();
  for (const [name] of OPTION_ROWS) expect(page.split(`\`${variableOf(name)}\``)).toHaveLength(2);
});

it('derives flags and variables from names', () => {
  expect(flagOf('maxBodyBytes')).toBe('--max-body-bytes');
  expect(variableOf('maxBodyBytes')).toBe('CHAIN_QUERY_MAX_BODY_BYTES');
});
