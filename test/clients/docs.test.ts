import { delimiter, join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { ACCOUNTS } from '../../src/dev/client/genesis.ts';
import { runToEnd } from '../support/servers/process.ts';
import { examplesOf, placed, runExample } from './examples.ts';
import { clientTools } from './tools.ts';

const page = 'docs/clients.md';
const { url } = inject('dev');
// Others send from the account of the page, too.
const places = { 'http://127.0.0.1:8545': url, [ACCOUNTS[0].key]: inject('parties').docs.key };

it('has every example of the page run here', () => {
  expect([...examplesOf(page).keys()]).toEqual(['viem', 'viem-send', 'ethers', 'ethers-send', 'cast']);
});

it('viem', async () => {
  expect(await runExample(page, 'viem', places)).toMatch(/^block \d+ is pre-confirmed, \d+ confirmed\n$/);
});

it('viem sends', async () => {
  expect(await runExample(page, 'viem-send', places)).toMatch(/^success in block \d+\n$/);
});

it('ethers', async () => {
  expect(await runExample(page, 'ethers', places)).toMatch(/^\d+ pre-confirmed, \d+ confirmed\n$/);
});

it('ethers sends', async () => {
  expect(await runExample(page, 'ethers-send', places)).toMatch(/^status 1 in block \d+\n$/);
});

it('cast', async () => {
  const path = [join(await clientTools(), 'node_modules/.bin'), process.env['PATH']].join(delimiter);
  const script = placed(examplesOf(page).get('cast') ?? '', places);
  const output = await runToEnd('sh', ['-ec', script], { env: { PATH: path } });
  expect(output).toMatch(/^\d+\n\d+\n\{.*"status":"0x1"/);
});
