import { type ChildProcess, spawn } from 'node:child_process';
import { repoRoot } from '../servers/paths.ts';
import { until } from '../servers/process.ts';
import { programs } from '../servers/serving.ts';

/** A command on a terminal of its own, as a person has it. */
export interface TerminalRun extends AsyncDisposable {
  /** All that was shown so far. */
  shown(): string;
  /** Waits until something is shown. */
  see(what: string | RegExp): Promise<void>;
  type(text: string): void;
  readonly exited: Promise<number | null>;
}

interface TerminalOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Of the terminal. */
  readonly columns?: number;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Runs the program under script(1), which gives it a pseudo terminal for all three streams. */
export function onTerminal(
  args: readonly string[],
  { env = {}, columns = 100 }: TerminalOptions = {},
): TerminalRun {
  const command = [process.execPath, programs.sources, ...args].map(quoted).join(' ');
  const child: ChildProcess = spawn(
    'script',
    ['--quiet', '--flush', '--return', '--command', `stty cols ${columns}; exec ${command}`, '/dev/null'],
    { cwd: repoRoot, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'], detached: true },
  );
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code));
  });
  let over = false;
  void exited.then(() => {
    over = true;
  });
  return {
    shown: () => text,
    see: async (what) => {
      await until(
        `${what} in:\n${text}`,
        () => {
          if (typeof what === 'string' ? text.includes(what) : what.test(text)) return true;
          if (over) throw new Error(`it ended:\n${text}`);
          return undefined;
        },
        30_000,
      );
    },
    type: (typed) => void child.stdin?.write(typed),
    exited,
    async [Symbol.asyncDispose]() {
      // Ctrl-C twice: the second does not wait. A node outlives its terminal, to which SIGHUP is to read options again.
      if (!over) child.stdin?.write('\u0003\u0003');
      await exited;
    },
  };
}
