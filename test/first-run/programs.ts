import { spawn } from 'node:child_process';

/** How a program is run. */
export interface ProgramOptions {
  readonly cwd?: string;
  /** All of its environment; that of this process where it is left out. */
  readonly env?: NodeJS.ProcessEnv;
  /** It is ended after so long. */
  readonly timeoutMs?: number;
  /** Other exit codes than 0 are an answer, too. */
  readonly mayFail?: boolean;
}

/** How a program ended. */
export interface Ended {
  readonly code: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

const TIMEOUT_MS = 180_000;
const MAX_OUTPUT = 2 ** 22;

/** Runs a program to its end, with all that it starts. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { cwd, env, timeoutMs = TIMEOUT_MS, mayFail = false }: ProgramOptions = {},
): Promise<Ended> {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] = (output[name] + text).slice(-MAX_OUTPUT);
    });
  const timer = setTimeout(() => endGroup(child.pid, 'SIGKILL'), timeoutMs);
  try {
    const code = await new Promise<Ended['code']>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (status, signal) => resolve(status ?? signal));
    });
    if (code === 0 || mayFail) return { code, ...output };
    throw new Error(
      `${command} ${args.join(' ')} ended with ${code}\n${output.stdout.slice(-4_000)}${output.stderr.slice(-4_000)}`,
    );
  } finally {
    clearTimeout(timer);
  }
}

/** Signals a group of processes; one that is gone needs none. */
export function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Whether any process of a group is there. */
export function groupLives(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
