import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { holdWriterLock } from './writer-lock.ts';

let path: string;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'chain-query-lock-'));
});
afterEach(() => rm(path, { recursive: true }));

const module = new URL('./writer-lock.ts', import.meta.url).href;

/** Another process that holds the lock until it is ended. */
async function otherHolder() {
  const program = `
    const { holdWriterLock } = await import(${JSON.stringify(module)});
    globalThis.lock = holdWriterLock(${JSON.stringify(path)});
    process.stdout.write('held');
    setInterval(() => globalThis.gc?.(), 10);`;
  const args = ['--expose-gc', '--input-type=module', '--eval', program];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

const REFUSED = /already written by another process/;

it('is held by one process at a time, and goes with it, however it ends', async () => {
  const other = await otherHolder();
  expect(() => holdWriterLock(path)).toThrow(REFUSED);
  other.kill('SIGKILL');
  await once(other, 'exit');
  // The file is still there: what counts is who holds it, not that it is there, nor which process once made it.
  using _ = holdWriterLock(path);
});

it('is held once in a process, too', () => {
  {
    using _ = holdWriterLock(path);
    expect(() => holdWriterLock(path)).toThrow(REFUSED);
  }
  using _ = holdWriterLock(path);
});

it('says what is wrong with a folder that cannot be written to', () => {
  expect(() => holdWriterLock(join(path, 'absent'))).toThrow(/absent cannot be written to/);
});
