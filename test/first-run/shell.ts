import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/servers/process.ts';
import { endGroup, groupLives } from './programs.ts';

/** What a command printed, and how it ended. */
export interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const COMMAND_MS = 180_000;
const STOP_MS = 20_000;

/** A terminal: one bash, in which a command finds what those before it left, and one that stays up goes on beside the others. */
export class Shell implements AsyncDisposable {
  readonly #bash: ChildProcessWithoutNullStreams;
  readonly #folder: string;
  readonly #output = { stdout: '', stderr: '' };
  #ended = false;
  #count = 0;

  /** `folder` is where its own files go, which is not where commands begin. */
  constructor(cwd: string, env: NodeJS.ProcessEnv, folder: string) {
    this.#folder = folder;
    this.#bash = spawn('bash', ['--norc', '--noprofile'], { cwd, env, detached: true });
    for (const name of ['stdout', 'stderr'] as const)
      this.#bash[name].setEncoding('utf8').on('data', (text: string) => {
        this.#output[name] += text;
      });
    this.#bash.once('close', () => {
      this.#ended = true;
    });
    // Jobs in groups of their own, so that one can be stopped as Ctrl-C stops it.
    this.#bash.stdin.write('set -m\n');
  }

  /** Runs a command to its end. */
  async run(command: string): Promise<Printed> {
    const end = `end-${randomUUID()}`;
    this.#output.stdout = '';
    this.#output.stderr = '';
    this.#bash.stdin.write(
      `{\n${command}\n} </dev/null\nprintf '\\n${end} %d\\n' $?; printf '\\n${end}\\n' >&2\n`,
    );
    const pattern = new RegExp(`\\n${end} (\\d+)\\n`);
    const found = await until(
      `the end of: ${command}`,
      () => {
        if (this.#ended) return { index: this.#output.stdout.length, code: 'the shell has ended' } as const;
        const match = pattern.exec(this.#output.stdout);
        if (match === null || !this.#output.stderr.includes(end)) return undefined;
        return { index: match.index, code: Number(match[1]) };
      },
      COMMAND_MS,
    ).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}; so far it printed:\n${this.#all()}`);
    });
    if (typeof found.code === 'string') throw new Error(`${found.code}:\n${this.#all()}`);
    const { stdout, stderr } = this.#output;
    return {
      code: found.code,
      stdout: stdout.slice(0, found.index),
      stderr: stderr.slice(0, stderr.indexOf(`\n${end}`)),
    };
  }

  /** Starts a command that stays up. */
  async start(command: string): Promise<Job> {
    const file = join(this.#folder, `job-${this.#count++}.txt`);
    const { stdout } = await this.run(
      `{\n${command}\n} >'${file}' 2>&1 </dev/null & echo "job $!"; disown $!`,
    );
    const pid = Number(/job (\d+)/.exec(stdout)?.[1]);
    if (!Number.isInteger(pid)) throw new Error(`it was not started: ${stdout}`);
    return new Job(pid, file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    endGroup(this.#bash.pid, 'SIGKILL');
    await until('the end of the shell', () => this.#ended || undefined, STOP_MS);
  }

  #all(): string {
    return `${this.#output.stdout}${this.#output.stderr}`.slice(-6_000);
  }
}

/** A command that runs beside others. */
export class Job {
  readonly #pid: number;
  readonly #file: string;

  constructor(pid: number, file: string) {
    this.#pid = pid;
    this.#file = file;
  }

  /** What it printed so far, on both streams. */
  output(): string {
    return existsSync(this.#file) ? readFileSync(this.#file, 'utf8') : '';
  }

  get lives(): boolean {
    return groupLives(this.#pid);
  }

  /** Does what Ctrl-C does. Fails if that does not end it. */
  async stop(): Promise<void> {
    endGroup(this.#pid, 'SIGINT');
    try {
      await until('it to end after Ctrl-C', () => (this.lives ? undefined : true), STOP_MS);
    } catch (error) {
      endGroup(this.#pid, 'SIGKILL');
      throw new Error(`${(error as Error).message}; it printed:\n${this.output().slice(-4_000)}`, {
        cause: error,
      });
    }
  }
}
