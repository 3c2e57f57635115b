import { expect, it } from 'vitest';
import { renderOptionsPage } from './render.ts';
import { flagOf, OPTION_ROWS, variableOf } from './rows.ts';

it('documents every option once', () => {
  const page = renderOptionsPage();
  for (const [name] of OPTION_ROWS) expect(page.split(`\`${variableOf(name)}\``)).toHaveLength(2);
});

it('derives flags and variables from names', () => {
  expect(flagOf('maxBodyBytes')).toBe('--max-body-bytes');
  expect(variableOf('maxBodyBytes')).toBe('CHAIN_QUERY_MAX_BODY_BYTES');
});
