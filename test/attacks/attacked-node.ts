import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { boundAddresses } from '../support/servers/node.ts';
import { repoRoot } from '../support/servers/paths.ts';
import { type Running, residentBytes, start, tempDir } from '../support/servers/process.ts';

/** A node with so much memory is what is attacked. */
export const MEMORY_BYTES = 2 ** 30;
const LOOK_MS = 100;
const PROBE = fileURLToPath(new URL('turn-probe.mjs', import.meta.url));

/** Our node, ended when it takes more memory than it has. */
export interface AttackedNode extends AsyncDisposable {
  /** The public listener. */
  readonly url: string;
  readonly port: number;
  /** Of the dedicated listener. */
  readonly dedicatedPort: number;
  readonly adminUrl: string;
  readonly running: Running;
  readonly pid: number;
  /** Whether it has ended, and why. */
  readonly death: string | undefined;
  /** The most anonymous memory since this was last asked. */
  takePeak(): number;
  /** The most CPU time that a serving thread spent at once since then. */
  longest(sinceMs: number): Promise<LongestTimes>;
}

/** In milliseconds. */
interface LongestTimes {
  readonly turnMs: number;
  /** Collecting garbage because our node asked for it. */
  readonly collectionMs: number;
}

/** The process below `ancestor` that runs our command line: npm and a shell stand between. */
async function findProgram(ancestor: number): Promise<number> {
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const [command, status] = await Promise.all(
      ['cmdline', 'status'].map((file) => readFile(`/proc/${entry}/${file}`, 'utf8').catch(() => '')),
    );
    // npm was started as the leader of a group of its own.
    const group = Number(/NSpgid:\s+(\d+)/.exec(status ?? '')?.[1]);
    if (group === ancestor && /^\S*node\0/.test(command ?? '') && command?.includes('src/cli/main.ts')) {
      return Number(entry);
    }
  }
  throw new Error('our node is not among the processes');
}

/** A control group (v2) with the memory of the node, where this process may make one. */
async function makeMemoryGroup(): Promise<string | undefined> {
  const path = `/sys/fs/cgroup/chain-query-attacked-${process.pid}`;
  try {
    await mkdir(path);
  } catch {
    return undefined;
  }
  try {
    await writeFile(join(path, 'memory.max'), String(MEMORY_BYTES), { flag: 'r+' });
    return path;
  } catch {
    await rmdir(path);
    return undefined;
  }
}

/** Starts `serve` with the probe in it, with the memory it has; where no group can bound that, it is watched. */
export async function startAttackedNode(options: readonly string[]): Promise<AttackedNode> {
  const dir = await tempDir('attacked');
  const portFile = join(dir.path, 'ports.json');
  const probeFile = join(dir.path, 'turns');
  const listeners = ['--public', '--dedicated', '--admin'].flatMap((name) => [name, '127.0.0.1:0']);
  const running = start(
    'npm',
    [
      ...['run', '-s', 'cli', '--', 'serve', ...listeners, '--threads', '2'],
      ...['--listen-port-file', portFile, ...options],
    ],
    { cwd: repoRoot, env: { NODE_OPTIONS: `--import=${PROBE}`, TURN_PROBE_FILE: probeFile } },
  );
  let death: string | undefined;
  let isStopping = false;
  void running.exited.then((code) => {
    if (!isStopping) death ??= `it ended with ${code}: ${running.output().slice(-600)}`;
  });
  const stop = async (): Promise<void> => {
    isStopping = true;
    clearInterval(watching);
    await running.stop();
    if (group !== undefined) await rmdir(group);
    await dir[Symbol.asyncDispose]();
  };
  const group = await makeMemoryGroup();
  let peak = 0;
  let pid = -1;
  const watching = setInterval(() => {
    const bytes = pid === -1 ? 0 : (residentBytes(pid) ?? 0);
    peak = Math.max(peak, bytes);
    if (bytes <= MEMORY_BYTES) return;
    death ??= `it took ${Math.round(bytes / 2 ** 20)} MiB`;
    running.signal('SIGKILL');
  }, LOOK_MS);
  try {
    const addresses = await boundAddresses(running, portFile);
    pid = await findProgram(running.pid);
    if (group !== undefined) await writeFile(join(group, 'cgroup.procs'), String(pid), { flag: 'r+' });
    const { public: open = '', dedicated = '', admin = '' } = addresses;
    return {
      ...{ url: `http://${open}`, port: Number(open.split(':')[1]), adminUrl: `http://${admin}` },
      dedicatedPort: Number(dedicated.split(':')[1]),
      ...{ running, pid },
      get death() {
        return death;
      },
      takePeak() {
        const taken = peak;
        peak = 0;
        return taken;
      },
      async longest(sinceMs) {
        const text = await readFile(probeFile, 'utf8').catch(() => '');
        const longest = { turnMs: 0, collectionMs: 0 };
        for (const line of text.split('\n')) {
          const [at = 0, turnMs = 0, collectionMs = 0] = line.split(' ').map(Number);
          if (at < sinceMs) continue;
          longest.turnMs = Math.max(longest.turnMs, turnMs);
          longest.collectionMs = Math.max(longest.collectionMs, collectionMs);
        }
        return longest;
      },
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
