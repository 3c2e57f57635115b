import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadOptions } from '../../src/config/load.ts';
import { DEPLOY, run, tool } from './tools.ts';

/** Tenths of what systemd-analyze calls exposure: 1.1 is ours, 9.6 that of a unit that asks for nothing. */
const EXPOSURE = 12;
const path = join(DEPLOY, 'systemd/chain-query.service');
const unit = readFileSync(path, 'utf8');

function settings(name: string): readonly string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

it('is a unit that systemd understands', () => {
  const { status, stdout, stderr } = tool('systemd-analyze', ['verify', '--man=no', path]);
  expect(`${stdout}${stderr}`.split('\n').filter((line) => line.includes('chain-query.service'))).toEqual([]);
  expect(status).toBe(0);
});

it('gives the process little of the machine', () => {
  run('systemd-analyze', ['security', '--offline=yes', `--threshold=${EXPOSURE}`, '--no-pager', path]);
});

it('starts a command that the program takes', () => {
  const [command = ''] = settings('ExecStart');
  const [, program, role, ...args] = command.split(' ');
  expect([program, role]).toEqual(['chain-query', 'serve']);
  const folder = mkdtempSync(join(tmpdir(), 'chain-query-unit-'));
  try {
    const config = join(folder, 'config.yaml');
    writeFileSync(config, 'upstream: https://upstream.example\ndrainDelayMs: 10000\n');
    const given = args.map((word) =>
      word.replace(/^\$\{STATE_DIRECTORY\}$/, folder).replace('/etc/chain-query/config.yaml', config),
    );
    const options = loadOptions('serve', { args: given, env: {} });
    expect(options).toMatchObject({ data: folder, upstream: ['https://upstream.example'] });
    // Time for a drain as the chart has it, and for what comes after.
    const [seconds = ''] = settings('TimeoutStopSec');
    expect(Number.parseInt(seconds, 10) * 1_000).toBeGreaterThan(
      options.drainDelayMs + options.shutdownTimeoutMs + 5_000,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('holds no secret, lets Node compile, and does not try wrong options for ever', () => {
  expect(settings('Environment')).toEqual([]);
  expect(settings('MemoryDenyWriteExecute')).toEqual(['no']);
  expect(settings('RestartPreventExitStatus')).toEqual(['2']);
  expect(settings('SystemCallFilter')).toEqual([
    '@system-service',
    '~@privileged @resources @obsolete',
    'setpriority',
  ]);
});
