import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadOptions } from './load.ts';
import { OPTIONS } from './table.ts';
import { UsageError } from './usage-error.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chain-query-config-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function configFile(content: unknown): string {
  const file = join(folder, 'config.yaml');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

function serve(args: readonly string[], env: Record<string, string> = {}) {
  return loadOptions('serve', { args: ['--data', 'd', ...args], env });
}

describe('precedence', () => {
  it('takes the default, then the file, then the variable, then the flag', () => {
    const config = configFile({ callGasCap: 30_000, logsAddresses: '5' });
    const env = { CHAIN_QUERY_CALL_GAS_CAP: '40000' };
    expect(serve([]).callGasCap).toBe(50_000_000);
    expect(serve(['--config', config]).callGasCap).toBe(30_000);
    expect(serve(['--config', config]).logsAddresses).toBe(5);
    expect(serve(['--config', config], env).callGasCap).toBe(40_000);
    expect(serve(['--config', config, '--call-gas-cap=60000'], env).callGasCap).toBe(60_000);
  });

  it('reads YAML, where a list is a list, and a file of comments alone', () => {
    const config = configFile(
      '# two\nupstream:\n  - http://one\n  - ws://two\nverifyState: on\npublic: off\n',
    );
    const upstream = ['http://one', 'ws://two'];
    expect(serve(['--config', config])).toMatchObject({ upstream, verifyState: true, public: 'off' });
    expect(serve(['--config', configFile('# threads: 3\n')]).threads).toBe(serve([]).threads);
  });

  it('finds the config file through its variable', () => {
    expect(serve([], { CHAIN_QUERY_CONFIG: configFile({ threads: 3 }) }).threads).toBe(3);
  });

  it('treats an empty variable as unset', () => {
    expect(serve([], { CHAIN_QUERY_LOG_LEVEL: '' }).logLevel).toBe('info');
  });
});

describe('defaults', () => {
  it('go by the chain where it is named, below whatever is set', () => {
    const polls = (...args: readonly string[]) => {
      const { upstreamPollMs, finalityMs } = serve(args);
      return [upstreamPollMs, finalityMs];
    };
    expect(polls()).toEqual([500, 4_000]);
    expect(polls('--chain', 'op-mainnet')).toEqual([500, 4_000]);
    expect(polls('--chain', 'base')).toEqual([50, 1_000]);
    expect(polls('--chain', 'ethereum')).toEqual([1_000, 12_000]);
    expect(polls('--chain', 'ethereum', '--upstream-poll-ms', '300')).toEqual([300, 12_000]);
    expect(polls('--chain', 'genesis.json')).toEqual([500, 4_000]);
  });

  it('are those of the contract', () => {
    expect(serve([])).toMatchObject({
      public: { host: '127.0.0.1', port: 8545 },
      dedicated: { host: '127.0.0.1', port: 8546 },
      admin: { host: '127.0.0.1', port: 8547 },
      maxResponseBytes: 10 * 1024 * 1024,
      logsAddresses: 1000,
      logsTopics: 1000,
      callGasCap: 50_000_000,
      callTimeLimitMs: 5000,
      undoWindow: 'finalized',
      hotWindow: 256,
      readyLag: { blocks: 0, ms: 30_000 },
      history: undefined,
      compat: 'none',
      listenPortFile: undefined,
    });
  });

  it('all parse', () => {
    for (const spec of Object.values(OPTIONS)) {
      if ('default' in spec) expect(() => spec.parse(spec.default)).not.toThrow();
    }
  });
});

describe('mistakes', () => {
  it.each([
    [['--threads', '0'], '--threads: expected a whole number from 1 to 1024, not "0"'],
    [['--compat', 'geth'], '--compat: expected one of none, execution-apis, not "geth"'],
  ])('%j', (args, message) => {
    expect(() => serve(args)).toThrow(new UsageError(message));
  });

  it('names a missing option and its variable', () => {
    const load = () => loadOptions('import', { args: ['--data', 'd', '--genesis', 'g'], env: {} });
    expect(load).toThrow('--blocks FILE is missing (or set CHAIN_QUERY_BLOCKS)');
  });

  it('names the variable of a bad value', () => {
    expect(() => serve([], { CHAIN_QUERY_PUBLIC: '8545' })).toThrow(
      'CHAIN_QUERY_PUBLIC: expected HOST:PORT or off',
    );
  });

  it.each([
    [{ thread: 2 }, 'unknown key thread. Did you mean threads?'],
    [{ config: 'other.json' }, 'unknown key config.'],
    [{ threads: true }, 'threads must be a string or a number'],
    [{ threads: 1.5 }, 'threads: expected a whole number from 1 to 1024, not "1.5"'],
    ['{', 'is not YAML: missing char in line 1'],
    ['[]', 'must hold keys and values'],
    ['threads: 2\nthreads: 3', 'is not YAML: duplicate key in line 2'],
    ['threads: !!js/function 2', 'is not YAML: tag resolve failed in line 1'],
    ['upstream: &all [ws://one]\narchive: *all', 'must not use aliases'],
    ['threads: 2\n---\nthreads: 3', 'is not YAML: multiple docs in line 2'],
    ['https://user:s3cret@host: 2', 'unknown key.'],
  ])('in the file: %j', (content, message) => {
    expect(() => serve(['--config', configFile(content)])).toThrow(message);
  });

  it('does not quote a file that may hold credentials', () => {
    const config = configFile('{"upstream": "https://user:s3cret@host" "threads": 2}');
    let error: unknown;
    try {
      serve(['--config', config]);
    } catch (thrown) {
      error = thrown;
    }
    expect(inspect(error)).not.toContain('s3cret');
    expect(error).toMatchObject({ message: `config file ${config} is not YAML: unexpected token in line 1` });
  });

  it('names a file that cannot be read', () => {
    expect(() => serve(['--config', join(folder, 'absent.json')])).toThrow('cannot be read');
  });

  it('accepts a file key of another command', () => {
    expect(() => serve(['--config', configFile({ importBatch: 8 })])).not.toThrow();
  });
});
