import { type CommandLoaders, dispatch } from '../../src/cli/dispatch.ts';

/** What the program says and ends with, given these arguments and no terminal. */
export async function dispatched(
  args: readonly string[],
  commands: CommandLoaders,
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  let [stdout, stderr] = ['', ''];
  const code = await dispatch({
    args,
    env: {},
    version: '1.2.3',
    signal: new AbortController().signal,
    reloads: new EventTarget(),
    stdin: () => process.stdin,
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
    commands,
  });
  return { code, stdout, stderr };
}
