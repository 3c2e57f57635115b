import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';

/** A program we started. */
export interface Child extends AsyncDisposable {
  /** Aborted, with the reason, when it has ended and nobody stopped it. */
  readonly failed: AbortSignal;
  /** Asks until `find` finds something in the output; fails if the program ends, or says nothing of the kind in time. */
  waitFor<T>(what: string, find: (output: string) => T | undefined): Promise<T>;
}

const KEPT_CHARACTERS = 64 * 1024;
const START_MS = 30_000;

/** Starts a program in a group of its own: Ctrl-C reaches us alone, and its children end with it. */
export function startChild(command: string, args: readonly string[]): Child {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const failure = new AbortController();
  let kept = '';
  let over = false;
  let stopping = false;
  const keep = (chunk: Buffer): void => {
    kept = (kept + chunk.toString('utf8')).slice(-KEPT_CHARACTERS);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const kill = (): void => {
    if (over || child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  // Whoever ends us in a hurry leaves nothing behind either.
  process.once('exit', kill);
  const ended = new Promise<void>((resolve) => {
    const end = (reason: string): void => {
      over = true;
      process.removeListener('exit', kill);
      if (!stopping) failure.abort(new Error(`${command} ${reason}${lastLines(kept)}`));
      resolve();
    };
    // A script may have started the program itself.
    child.once('exit', kill);
    child.once('error', (error) => end(`cannot be started: ${error.message}`));
    child.once('close', (code, signal) => end(`ended by itself (${code ?? signal})`));
  });
  return {
    failed: failure.signal,
    async waitFor(what, find) {
      const deadline = performance.now() + START_MS;
      for (;;) {
        failure.signal.throwIfAborted();
        const found = find(kept);
        if (found !== undefined) return found;
        if (performance.now() > deadline)
          throw new Error(`${command}: no ${what} within ${START_MS} ms${lastLines(kept)}`);
        await pause(20);
      }
    },
    async [Symbol.asyncDispose]() {
      stopping = true;
      // Nothing that it would write in order is kept.
      kill();
      await ended;
    },
  };
}

/** Runs a program to its end. */
export async function runChild(command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let kept = '';
  child.stderr.on('data', (chunk: Buffer) => {
    kept = (kept + chunk.toString('utf8')).slice(-KEPT_CHARACTERS);
  });
  const code = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve(status ?? signal));
  });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}${lastLines(kept)}`);
}

function lastLines(output: string): string {
  const lines = output.trimEnd().split('\n').slice(-2).join('\n');
  return lines === '' ? '' : `: ${lines}`;
}
