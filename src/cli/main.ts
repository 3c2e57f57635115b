#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { EXIT_CODES } from './exit-codes.ts';
import { StoppedError } from './failure.ts';
import { startWithSmallMemory } from './memory-flags.ts';
import { tooOld } from './node-version.ts';

// Before all else: an older Node cannot even read the rest.
const old = tooOld(process.versions.node, process.execPath);
if (old !== undefined) {
  process.stderr.write(old);
  process.exit(EXIT_CODES.failure.code);
}

/** Commands that run until they are stopped. */
const LASTING = ['serve', 'ingest', 'dev'];

// Elsewhere a process cannot go on as another program.
const canRestart = process.platform === 'linux' || process.platform === 'darwin';
const lasts = LASTING.includes(process.argv[2] ?? '');
const start = lasts && canRestart ? startWithSmallMemory(process) : undefined;
if (start !== undefined) process.execve?.(start.file, start.args, start.env);
// Only now, so that it is not read twice.
const { dispatch } = await import('./dispatch.ts');
const { LOADERS } = await import('./loaders.ts');

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const shutdown = new AbortController();
const reloads = new EventTarget();
// A node that runs as a service reads its options again. Whatever runs in a terminal ends with it, and leaves nothing behind.
const isService = ['serve', 'ingest'].includes(process.argv[2] ?? '') && !process.stderr.isTTY;
if (isService) process.on('SIGHUP', () => reloads.dispatchEvent(new Event('reload')));
for (const name of ['SIGINT', 'SIGTERM', ...(isService ? [] : ['SIGHUP' as const])] as const) {
  process.on(name, () => {
    // Whoever asks twice does not want to wait for the drain.
    if (shutdown.signal.aborted) process.exit(128 + constants.signals[name]);
    shutdown.abort(new StoppedError(name, constants.signals[name]));
  });
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A node goes on: what it says there is only for who looks on.
  if (lasts) return;
  // Whoever reads has seen enough, as `head` does: other programs end by this signal.
  if (error.code === 'EPIPE') process.exit(EXIT_CODES.brokenPipe.code);
  process.stderr.write(`chain-query: the output cannot be written: ${error.message}\n`);
  process.exit(EXIT_CODES.failure.code);
});
// Nobody hears of it: there is no other place to say so.
process.stderr.on('error', () => {});

const exitCode = await dispatch({
  args: process.argv.slice(2),
  env: process.env,
  version,
  signal: shutdown.signal,
  reloads,
  // Made when it is asked for: nearly nobody does.
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  commands: LOADERS,
});

// After a signal or a failure, whatever did not end in time must not keep the process.
if (shutdown.signal.aborted || exitCode !== 0) process.exit(exitCode);
process.exitCode = exitCode;
