import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { CHAINS } from '../../rules/chains.ts';
import { flagOf, OPTION_ROWS } from '../rows.ts';
import { COMMANDS } from '../spec.ts';
import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import { completionModel } from './model.ts';
import { zshCompletion } from './zsh.ts';

const model = completionModel();
const folder = mkdtempSync(join(tmpdir(), 'chain-query-completion-'));
const script = join(folder, 'chain-query.bash');
writeFileSync(script, bashCompletion(model));
writeFileSync(join(folder, 'genesis.json'), '');
mkdirSync(join(folder, 'store'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What bash itself answers to the words of a line; the last is the one at the cursor. */
function complete(...words: readonly string[]): readonly string[] {
  const program = `source "$1"; shift; COMP_WORDS=(chain-query "$@"); COMP_CWORD=$#
    compopt() { :; }; _chain_query; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--norc', '--noprofile', '-c', program, 'bash', script, ...words];
  const said = execFileSync('bash', args, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return said.split('\n').filter((line) => line !== '');
}

it('completes commands, verbs and options in bash', () => {
  expect(complete('')).toEqual(expect.arrayContaining(Object.keys(COMMANDS)));
  expect(complete('ser')).toEqual(['serve']);
  expect(complete('keys', '')).toEqual(['add', 'list', 'revoke']);
  expect(complete('help', 'sn')).toEqual(['snapshot']);
  expect(complete('serve', '--upstream-p')).toEqual(['--upstream-poll-ms']);
  expect(complete('import', '--upstream')).toEqual([]);
  expect(complete('nothing', '--da')).toEqual([]);
});

it('completes values in bash', () => {
  expect(complete('serve', '--log-level', 'w')).toEqual(['warn']);
  // As bash splits --log-level=w.
  expect(complete('serve', '--log-level', '=', 'w')).toEqual(['warn']);
  expect(complete('serve', '--log-level', '=')).toHaveLength(7);
  const names = CHAINS.map(({ name }) => name);
  expect(complete('serve', '--chain', '')).toEqual(expect.arrayContaining([...names, 'genesis.json']));
  expect(complete('serve', '--data', '')).toEqual(['store']);
  expect(complete('import', '--genesis', 'gen')).toEqual(['genesis.json']);
  expect(complete('serve', '--limit-loopback', '')).toEqual(['on', 'off']);
  expect(complete('serve', '--upstream', '')).toEqual([]);
});

it('is registered for the program', () => {
  const asked = spawnSync('bash', ['--norc', '-c', `source "$1"; complete -p chain-query`, 'bash', script]);
  expect(String(asked.stdout)).toBe('complete -F _chain_query chain-query\n');
  expect(String(asked.stderr)).toBe('');
});

it.each([
  ['bash', bashCompletion, (flag: string) => flag],
  ['zsh', zshCompletion, (flag: string) => flag],
  ['fish', fishCompletion, (flag: string) => `-l ${flag.slice(2)}`],
] as const)('knows every option in %s', (_, render, spelt) => {
  const text = render(model);
  for (const [name] of OPTION_ROWS) expect(text).toContain(spelt(flagOf(name)));
});
