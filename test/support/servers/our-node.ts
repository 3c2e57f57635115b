import { join } from 'node:path';
import { boundAddresses, startCli } from './node.ts';
import { type Running, tempDir, until } from './process.ts';

/** One of our nodes that follows a chain. */
export interface FollowingNode extends AsyncDisposable {
  readonly url: string;
  readonly adminUrl: string;
  readonly running: Running;
  stop(): Promise<void>;
  /** Ends it without warning. */
  kill(): Promise<void>;
}

export interface FollowingOptions {
  readonly dataDir: string;
  readonly upstreams: readonly string[];
  /** File with the rules of the chain. */
  readonly rules: string;
  readonly pollMs?: number;
  readonly more?: readonly string[];
}

/** Starts our node; it need not listen yet. */
export function launch(options: FollowingOptions, portFile: string): Running {
  return startCli([
    ...['serve', '--data', options.dataDir, '--chain', options.rules, '--listen-port-file', portFile],
    ...['--public', 'off', '--dedicated', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--threads', '2'],
    // Errors as geth words them, so that they can be compared.
    ...['--compat', 'execution-apis', '--upstream-poll-ms', String(options.pollMs ?? 50)],
    ...options.upstreams.flatMap((url) => ['--upstream', url]),
    ...(options.more ?? []),
  ]);
}

/** Starts our node and waits until it listens. */
export async function follow(options: FollowingOptions): Promise<FollowingNode> {
  const ports = await tempDir('ports');
  const portFile = join(ports.path, 'ports.json');
  const running = launch(options, portFile);
  const end = async (ending: Promise<unknown>): Promise<void> => {
    await ending;
    await ports[Symbol.asyncDispose]();
  };
  try {
    return whereItListens(running, await boundAddresses(running, portFile), end);
  } catch (error) {
    await end(running.stop());
    throw error;
  }
}

export function whereItListens(
  running: Running,
  addresses: Readonly<Record<string, string>>,
  end: (ending: Promise<unknown>) => Promise<void> = async (ending) => void (await ending),
): FollowingNode {
  const stop = (): Promise<void> => end(running.stop());
  const kill = (): Promise<void> => {
    running.signal('SIGKILL');
    return end(running.exited);
  };
  return {
    url: `http://${addresses['dedicated']}`,
    adminUrl: `http://${addresses['admin']}`,
    running,
    stop,
    kill,
    [Symbol.asyncDispose]: stop,
  };
}

/** Whether a program writes a text, so many times. What it wrote may come through its pipe after what it answered. */
export function writes(running: Pick<Running, 'output'>, text: string, times = 1): Promise<boolean> {
  const isThere = (): true | undefined => (running.output().split(text).length > times ? true : undefined);
  return until(`our node to write ${text}`, isThere, 5_000).catch(() => false);
}

export interface Readiness {
  readonly status: number;
  readonly ready: boolean;
  readonly reasons?: readonly { readonly reason: string; readonly detail?: string }[];
}

export async function readiness(node: FollowingNode): Promise<Readiness> {
  const response = await fetch(`${node.adminUrl}/readyz`);
  return { status: response.status, ...((await response.json()) as Omit<Readiness, 'status'>) };
}

/** Samples of one metric by their labels, as Prometheus writes them. */
export async function metric(node: FollowingNode, name: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${node.adminUrl}/metrics`)).text();
  const samples = text.split('\n').flatMap((line) => {
    const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    return match?.[1] === name ? [[match[2] ?? '', Number(match[3])] as const] : [];
  });
  return new Map(samples);
}

export async function total(node: FollowingNode, name: string): Promise<number> {
  let sum = 0;
  for (const value of (await metric(node, name)).values()) sum += value;
  return sum;
}

/** Waits until ours has this block as its head. */
export async function untilHead(node: FollowingNode, hash: string, deadlineMs = 30_000): Promise<void> {
  await until(
    `our head to be ${hash}`,
    async () => {
      if (node.running.output().includes('the node cannot go on')) {
        throw new Error(`our node ended:\n${node.running.output()}`);
      }
      const response = await fetch(node.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}',
      });
      await response.text();
      return response.headers.get('x-chain-head')?.endsWith(hash) === true ? true : undefined;
    },
    deadlineMs,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${node.running.output().slice(-3000)}`);
  });
}
