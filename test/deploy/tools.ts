import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of what is tested here. */
export const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
/** Where .ci/run puts what it installs. */
export const CACHE = join(homedir(), '.cache/chain-query');

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of .ci/run to its end. */
export function tool(name: string, args: readonly string[], cwd: string = DEPLOY): Ended {
  const PATH = `${join(CACHE, 'bin')}:${process.env['PATH']}`;
  const ended = spawnSync(name, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, PATH },
    timeout: 30_000,
  });
  if (ended.error !== undefined)
    throw new Error(`${name} cannot be run: .ci/run installs it`, { cause: ended.error });
  return ended;
}

/** The same where it must end well; gives what it printed. */
export function run(name: string, args: readonly string[], cwd?: string): string {
  const { status, stdout, stderr } = tool(name, args, cwd);
  if (status !== 0) throw new Error(`${name} ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}
