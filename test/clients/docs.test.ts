import { delimiter, join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { runToEnd } from '../support/servers/process.ts';
import { examplesOf, runExample } from './examples.ts';
import { clientTools } from './tools.ts';

const page = 'docs/clients.md';
const { url } = inject('dev');
const places = { 'http://127.0.0.1:8545': url };

it('has every example of the page run here', () => {
  expect([...examplesOf(page).keys()]).toEqual(['viem', 'ethers', 'cast']);
});

it('viem', async () => {
  expect(await runExample(page, 'viem', places)).toMatch(/^block \d+ is pre-confirmed, \d+ confirmed\n$/);
});

it('ethers', async () => {
  expect(await runExample(page, 'ethers', places)).toMatch(/^\d+ pre-confirmed, \d+ confirmed\n$/);
});

it('cast', async () => {
  const path = [join(await clientTools(), 'node_modules/.bin'), process.env['PATH']].join(delimiter);
  const script = (examplesOf(page).get('cast') ?? '').replaceAll('http://127.0.0.1:8545', url);
  const output = await runToEnd('sh', ['-ec', script], { env: { PATH: path } });
  expect(output).toMatch(/^\d+\n\d+\n$/);
});
