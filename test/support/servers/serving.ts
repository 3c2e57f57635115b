import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { boundAddresses } from './node.ts';
import { repoRoot } from './paths.ts';
import { type Running, type StartOptions, start, tempDir } from './process.ts';

/** The program from its sources, and as it is published. */
export const programs = {
  sources: join(repoRoot, 'src/cli/main.ts'),
  compiled: join(repoRoot, 'dist/cli/main.js'),
} as const;

/** Starts a command without npm in between, whose signals and exit code are then the program's own. */
export function startProgram(
  args: readonly string[],
  options: StartOptions & { readonly under?: readonly string[] } = {},
  program: string = programs.sources,
): Running {
  const [command = '', ...rest] = [...(options.under ?? []), process.execPath, program, ...args];
  return start(command, rest, { cwd: repoRoot, ...options });
}

/** Runs a command to its end. */
export async function runProgram(
  args: readonly string[],
  program?: string,
): Promise<{ readonly code: number | string; readonly output: string }> {
  const running = startProgram(args, {}, program);
  const code = await running.exited;
  return { code, output: running.output() };
}

export interface Serving extends AsyncDisposable {
  readonly running: Running;
  readonly publicUrl: string;
  readonly dedicatedUrl: string;
  readonly adminUrl: string;
  /** Where it listens, by the names of profiles. */
  readonly addresses: Readonly<Record<string, string>>;
}

interface ServeOptions extends StartOptions {
  /** A program that starts the node, such as prlimit. */
  readonly under?: readonly string[];
  readonly args?: readonly string[];
  readonly program?: string;
}

const LISTENERS = ['public', 'dedicated', 'admin'] as const;

/** Serves a store with all three listeners on ports of the system's choice. */
export async function startServing(data: string, options: ServeOptions = {}): Promise<Serving> {
  const dir = await tempDir('serving');
  const portFile = join(dir.path, 'ports.json');
  const listeners = LISTENERS.flatMap((name) => [`--${name}`, '127.0.0.1:0']);
  const args = ['serve', '--data', data, ...listeners, '--listen-port-file', portFile];
  const running = startProgram([...args, ...(options.args ?? [])], options, options.program);
  const stop = async (): Promise<void> => {
    await running.stop();
    await dir[Symbol.asyncDispose]();
  };
  try {
    const ports = await boundAddresses(running, portFile);
    const [publicUrl = '', dedicatedUrl = '', adminUrl = ''] = LISTENERS.map(
      (name) => `http://${ports[name]}`,
    );
    return { running, publicUrl, dedicatedUrl, adminUrl, addresses: ports, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Status and text of a GET. */
export async function get(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url, { headers: { connection: 'close' } });
  return { status: response.status, text: await response.text() };
}

/** Status and JSON of one JSON-RPC call on a connection of its own. */
export async function callOnce(
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<{
  readonly status: number;
  readonly body: { readonly result?: unknown; readonly error?: unknown };
}> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return { status: response.status, body: (await response.json()) as object };
}

/** Where a process listens, as Linux knows it: `127.0.0.1:8545`, one entry a socket. */
export async function listeningSockets(pid: number): Promise<readonly string[]> {
  const inodes = new Set<string>();
  for (const fd of await readdir(`/proc/${pid}/fd`)) {
    const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  const sockets: string[] = [];
  for (const table of ['tcp', 'tcp6']) {
    const rows = (await readFile(`/proc/${pid}/net/${table}`, 'utf8')).trim().split('\n').slice(1);
    for (const row of rows) {
      const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/);
      if (state === '0A' && inodes.has(inode)) sockets.push(readAddress(local));
    }
  }
  return sockets;
}

/** Four bytes of an address in the machine's order, then the port. */
function readAddress(text: string): string {
  const [address = '', port = ''] = text.split(':');
  if (address.length !== 8) return `[${address}]:${Number.parseInt(port, 16)}`;
  const bytes = [...Buffer.from(address, 'hex')].reverse();
  return `${bytes.join('.')}:${Number.parseInt(port, 16)}`;
}
