import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const outputKept = 64 * 1024;
const stopDeadlineMs = 20_000;

/** Asks again until `probe` answers something; fails with `what` after the deadline. The pause only paces the asking. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | Promise<T | undefined>,
  deadlineMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + deadlineMs;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined) return value;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > deadline) {
      throw new Error(`gave up waiting for ${what} after ${deadlineMs} ms`, { cause: lastError });
    }
    await pause(20);
  }
}

/** A program we started, in a process group of its own so that its children go with it. */
export interface Running extends AsyncDisposable {
  readonly pid: number;
  /** The last output, both streams, for error reports and for programs that only print the port they chose. */
  output(): string;
  /** Exit code, or the signal's name; pending while it runs. */
  readonly exited: Promise<number | string>;
  signal(name: NodeJS.Signals): void;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function start(command: string, args: readonly string[], options: StartOptions = {}): Running {
  const child: ChildProcess = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let kept = '';
  const keep = (chunk: Buffer): void => {
    kept = (kept + chunk.toString('utf8')).slice(-outputKept);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const exited = new Promise<number | string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const { pid } = child;
  // A program that cannot be started has no pid; the 'error' event then says why.
  exited.catch(() => {});
  let over = false;
  exited.then(
    () => {
      over = true;
    },
    () => {
      over = true;
    },
  );
  const signal = (name: NodeJS.Signals): void => {
    if (pid === undefined || over) return;
    try {
      process.kill(-pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  const stop = async (): Promise<void> => {
    if (over) return;
    signal('SIGTERM');
    const harder = setTimeout(() => signal('SIGKILL'), stopDeadlineMs);
    await exited.catch(() => {});
    clearTimeout(harder);
  };
  // A test run that ends early must not leave servers behind.
  const onExit = (): void => signal('SIGKILL');
  process.once('exit', onExit);
  exited.finally(() => process.removeListener('exit', onExit)).catch(() => {});
  return { pid: pid ?? -1, output: () => kept, exited, signal, stop, [Symbol.asyncDispose]: stop };
}

/** Runs a program to its end and gives its output; a failure carries the output. */
export async function runToEnd(
  command: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<string> {
  const running = start(command, args, options);
  const code = await running.exited;
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${running.output()}`);
  return running.output();
}

export interface TempDir extends AsyncDisposable {
  readonly path: string;
}

export async function tempDir(name: string): Promise<TempDir> {
  const path = await mkdtemp(join(tmpdir(), `chain-query-${name}-`));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Anonymous memory of a process that is resident; undefined once it has ended. */
export function residentBytes(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const found = /RssAnon:\s+(\d+)/.exec(status)?.[1];
    // A process that is ending has none any more.
    return found === undefined ? undefined : Number(found) * 1_024;
  } catch {
    return undefined;
  }
}
