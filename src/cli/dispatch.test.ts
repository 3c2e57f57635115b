import { expect, it } from 'vitest';
import { dispatched } from '../../test/support/dispatched.ts';
import type { CommandLoaders } from './dispatch.ts';

const idle: CommandLoaders = {
  import: async () => ({ run: async () => {} }),
  serve: async () => ({ run: async () => {} }),
  ingest: async () => ({ run: async () => {} }),
  backfill: async () => ({ run: async () => {} }),
  verify: async () => ({ run: async () => {} }),
  doctor: async () => ({ run: async () => {} }),
  chains: async () => ({ run: async () => {} }),
  dev: async () => ({ run: async () => {} }),
  keys: async () => ({ run: async () => {} }),
  config: async () => ({ run: async () => {} }),
  snapshot: async () => ({ run: async () => {} }),
  plan: async () => ({ run: async () => {} }),
  completion: async () => ({ run: async () => {} }),
};

const run = (args: readonly string[], commands: Partial<CommandLoaders> = {}) =>
  dispatched(args, { ...idle, ...commands });

it('prints its version', async () => {
  expect(await run(['--version'])).toEqual({ code: 0, stdout: '1.2.3\n', stderr: '' });
});

it('prints help for the program and for a command', async () => {
  expect((await run(['--help'])).stdout).toContain('Usage: chain-query <command>');
  expect((await run(['serve', '--help'])).stdout).toContain('--public HOST:PORT');
});

it('hands a command its parsed options', async () => {
  let seen: unknown;
  const verify: CommandLoaders['verify'] = async () => ({
    run: async (options) => {
      seen = options.data;
    },
  });
  expect((await run(['verify', '--data', 'folder'], { verify })).code).toBe(0);
  expect(seen).toBe('folder');
});

it('hands a command with verbs its verb, and the options of all commands', async () => {
  const seen: unknown[] = [];
  const config: CommandLoaders['config'] = async () => ({
    run: async (_, { verb, sources }) => void seen.push(verb, sources.args),
  });
  expect((await run(['config', 'check', '--blocks', 'b', '--threads=2'], { config })).code).toBe(0);
  expect(seen).toEqual(['check', ['--blocks', 'b', '--threads=2']]);
  expect((await run(['config', 'check', '--threads=many'], { config })).code).toBe(2);
  expect((await run(['config', '--help'], { config })).stdout).toContain(
    'Usage: chain-query config check|print',
  );
});

it.each([
  [[], 'chain-query: a command is missing\nTry chain-query --help.\n'],
  [['serv'], 'chain-query: unknown command serv. Did you mean serve?\nTry chain-query --help.\n'],
  [
    ['verify'],
    'chain-query: --data DIR is missing (or set CHAIN_QUERY_DATA)\n  → run: chain-query verify --data DIR\nTry chain-query verify --help.\n',
  ],
  [
    ['config', 'chek'],
    'chain-query: config needs one of check, print. Did you mean check?\nTry chain-query config --help.\n',
  ],
  [['user:s3cret@host'], 'chain-query: unknown command.\nTry chain-query --help.\n'],
  [['toString'], 'chain-query: unknown command toString.\nTry chain-query --help.\n'],
])('calls %j a usage error', async (args, stderr) => {
  expect(await run(args)).toEqual({ code: 2, stdout: '', stderr });
});

it('prints a failure with its causes on one line, without credentials', async () => {
  const cause = new Error('connect\n  refused');
  const error = new Error('upstream https://user:key@host.example failed', { cause });
  const serve: CommandLoaders['serve'] = async () => ({ run: () => Promise.reject(error) });
  expect(await run(['serve', '--data', 'd'], { serve })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'chain-query: upstream https://***@host.example failed: connect refused\n',
  });
});
