// What a container is to a program, without a container: process 1, another user with no rights, a root that cannot be written.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The user of the image. */
const USER = 65532;
const AS_ROOT: readonly string[] = process.getuid?.() === 0 ? [] : ['sudo', '-n', '-E'];
const INSIDE = `set -eu
mount --bind "$APP" "$APP"
mount -o remount,bind,ro "$APP"
mount --bind "$NODE" "$FOLDER/node"
[ -z "$PROC" ] || mount -t proc -o "$PROC" proc /proc
cd "$APP"
exec setpriv --reuid ${USER} --regid ${USER} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
`;

const running = new Set<ChildProcess>();

/** Ends what a test that failed left behind: two that share a store from two containers disturb each other. */
export async function endContainers(): Promise<void> {
  for (const child of running) {
    const closed = once(child, 'close');
    endProcess1(child);
    await closed;
  }
}

export interface Container {
  readonly output: () => string;
  /** Process 1, as seen from outside. */
  readonly pid: () => Promise<number>;
  /** Ends it with that signal, and gives its exit code. */
  readonly stop: (signal: NodeJS.Signals, limitMs?: number) => Promise<number | null>;
  readonly ended: Promise<number | null>;
  /** Once process 1 has started another, so that it passes signals on. Before that, the kernel drops them. */
  readonly initialised: () => Promise<void>;
}

/** A folder with the run folder of the image in `app`, and a volume in `data`, both as the image has them. */
export function prepareFolder(folder: string): void {
  chmodSync(folder, 0o755);
  // Node may stand where only its owner can look.
  writeFileSync(join(folder, 'node'), '');
  runAsRoot(['chown', '-R', `${USER}:${USER}`, join(folder, 'data')]);
}

/** What only root may do, also where the tests run as somebody who must ask for it. */
export function runAsRoot(command: readonly string[]): void {
  const [file = '', ...args] = [...AS_ROOT, ...command];
  const ended = spawnSync(file, args, { encoding: 'utf8' });
  if (ended.status !== 0) throw new Error(`${command.join(' ')}: ${ended.stderr}`);
}

/** Runs a command as the image would: `node` in it is the node of the image. `proc` are options for how it sees processes. */
export function startContainer(
  folder: string,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  proc = '',
): Container {
  const args = command.map((word) => (word === 'node' ? join(folder, 'node') : word));
  const [file = '', ...rest] = [
    ...AS_ROOT,
    ...['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'],
    ...['sh', '-c', INSIDE, 'sh', ...args],
  ];
  const child = spawn(file, rest, {
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
      ...{ APP: join(folder, 'app'), FOLDER: folder, NODE: process.execPath, PROC: proc },
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => void chunks.push(chunk.toString('utf8')));
  running.add(child);
  const ended = once(child, 'close').then(([code]) => {
    running.delete(child);
    return code as number | null;
  });
  const pid = (): Promise<number> => firstChild(child);
  return {
    output: () => chunks.join(''),
    pid,
    ended,
    initialised: async () => {
      const init = await pid();
      // A shell before it mounts things, which are its children too.
      const isInit = (): boolean => readFileSync(`/proc/${init}/comm`, 'utf8') === 'tini\n';
      await until(() => isInit() && childrenOf(init) !== '', 'what the init starts');
    },
    stop: async (signal, limitMs = 15_000) => {
      runAsRoot(['kill', '-s', signal.slice(3), String(await pid())]);
      const timer = new AbortController();
      const late = delay(limitMs, 'late' as const, { signal: timer.signal }).catch(() => undefined);
      const first = await Promise.race([ended, late]);
      timer.abort();
      if (first !== 'late' && first !== undefined) return first;
      endProcess1(child);
      throw new Error(`not stopped ${limitMs} ms after ${signal}: ${chunks.join('').slice(-2_000)}`);
    },
  };
}

async function until(done: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!done()) {
    if (performance.now() > deadline) throw new Error(`${what} never came`);
    await delay(2);
  }
}

/** unshare itself stays outside, and passes on no signal. */
async function firstChild(child: ChildProcess): Promise<number> {
  const read = (): string =>
    child.exitCode === null && child.pid !== undefined ? childrenOf(child.pid) : 'ended';
  await until(() => read() !== '', 'process 1');
  const pid = Number(read().split(' ')[0]);
  if (Number.isNaN(pid)) throw new Error('it has ended already');
  return pid;
}

/** With process 1, all of them end. To end unshare alone would leave them: that they end with it is lost with the change of user. */
function endProcess1(child: ChildProcess): void {
  if (child.exitCode !== null || child.pid === undefined) return;
  const inside = childrenOf(child.pid);
  if (inside === '') child.kill('SIGKILL');
  else runAsRoot(['kill', '-s', 'KILL', inside]);
}

function childrenOf(pid: number): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
}
