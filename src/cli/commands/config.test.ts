import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadOptions } from '../../config/load.ts';
import { run } from './config.ts';

async function config(verb: string, args: readonly string[], env: Record<string, string> = {}) {
  let printed = '';
  const stdout = { write: (text: string) => (printed += text) };
  const signal = new AbortController().signal;
  const context = { verb, version: '1', sources: { args, env }, signal, reloads: new EventTarget() };
  const streams = { stdin: () => process.stdin, stdout, stderr: stdout };
  await run({ json: args.includes('--json') }, { ...context, ...streams });
  return printed;
}

it('counts what is set, and names variables that mean nothing here', async () => {
  const env = { CHAIN_QUERY_THREADS: '2', CHAIN_QUERY_TREADS: '3', PATH: '/bin' };
  expect(await config('check', ['--data', 'd'], env)).toBe(
    'warning: CHAIN_QUERY_TREADS is not an option. Did you mean CHAIN_QUERY_THREADS?\n' +
      'ok: 2 options are set, all others have their defaults\n',
  );
});

it('prints where each value comes from, without credentials', async () => {
  const env = {
    CHAIN_QUERY_UPSTREAM: 'https://user:s3cret@one/v2/s3cret,ws://two?key=s3cret',
    CHAIN_QUERY_SEND_TO: 'off',
  };
  const printed = await config('print', ['--threads', '2'], env);
  expect(printed).not.toContain('s3cret');
  expect(printed).toContain('upstream: https://***@one/v2/***,ws://two?***  # CHAIN_QUERY_UPSTREAM\n');
  expect(printed).toContain('sendTo: off  # CHAIN_QUERY_SEND_TO\n');
  expect(printed).toContain('threads: 2  # --threads\n');
  expect(printed).toContain('# data: not set\n');
  expect(printed).toContain('logLevel: info  # default\n');
});

it('prints a file that means the same', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chain-query-config-'));
  try {
    const args = [
      '--data',
      'a: b # c',
      '--upstream',
      'http://one,ws://two',
      '--verify-state',
      '--history=30d',
    ];
    const file = join(folder, 'printed.yaml');
    writeFileSync(file, await config('print', args));
    const again = loadOptions('serve', { args: ['--config', file], env: {} });
    expect(again).toEqual({ ...loadOptions('serve', { args, env: {} }), config: file });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('prints the same as one JSON document, without credentials', async () => {
  const env = { CHAIN_QUERY_UPSTREAM: 'https://user:s3cret@one/v2/s3cret', CHAIN_QUERY_TREADS: '3' };
  const printed = await config('print', ['--json', '--threads', '2'], env);
  expect(printed).not.toContain('s3cret');
  expect(JSON.parse(printed)).toMatchObject({
    options: {
      threads: { value: '2', origin: '--threads' },
      upstream: { value: 'https://***@one/v2/***', origin: 'CHAIN_QUERY_UPSTREAM' },
      public: { value: '127.0.0.1:8545', origin: 'default' },
      history: null,
    },
  });
  expect(JSON.parse(await config('check', ['--json'], env))).toEqual({
    ok: true,
    set: ['json', 'upstream'],
    warnings: ['CHAIN_QUERY_TREADS is not an option. Did you mean CHAIN_QUERY_THREADS?'],
  });
});
