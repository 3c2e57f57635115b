import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { officialChain, repoRoot } from './paths.ts';
import { type Running, runToEnd, start, tempDir, until } from './process.ts';

export interface ChainFiles {
  readonly genesis: string;
  readonly blocks: string;
}

export interface OurNode extends AsyncDisposable {
  /** Serves everyone, without eth_getBlockReceipts. */
  readonly publicUrl: string;
  readonly dedicatedUrl: string;
  readonly running: Running;
  stop(): Promise<void>;
}

const cli = ['run', '-s', 'cli', '--'] as const;

/** Starts a command of our command line, through the script that people use. */
export function startCli(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  return start('npm', [...cli, ...args], { cwd: repoRoot, env });
}

export function runCli(args: readonly string[]): Promise<string> {
  return runToEnd('npm', [...cli, ...args], { cwd: repoRoot });
}

export function importArguments(dataDir: string, chain: ChainFiles = officialChain): readonly string[] {
  return ['import', '--data', dataDir, '--genesis', chain.genesis, '--blocks', chain.blocks];
}

/** Where a `serve` listens, by listener, as soon as it says so; an error with its output if it ends before. */
export async function boundAddresses(
  running: Running,
  portFile: string,
): Promise<Readonly<Record<string, string>>> {
  const died = running.exited.then((code) => {
    throw new Error(`serve ended with ${code}:\n${running.output()}`);
  });
  const written = until('serve to write its ports', async () => JSON.parse(await readFile(portFile, 'utf8')));
  return Promise.race([written, died]);
}

/** Serves what `dataDir` holds, on ports of the system's choice. */
export async function serve(dataDir: string, options: readonly string[] = []): Promise<OurNode> {
  const dir = await tempDir('ports');
  const portFile = join(dir.path, 'ports.json');
  const running = startCli([
    ...[
      'serve',
      '--data',
      dataDir,
      '--public',
      '127.0.0.1:0',
      '--dedicated',
      '127.0.0.1:0',
      '--admin',
      'off',
    ],
    ...['--listen-port-file', portFile],
    ...options,
  ]);
  const stop = async (): Promise<void> => {
    await running.stop();
    await dir[Symbol.asyncDispose]();
  };
  try {
    const ports = await boundAddresses(running, portFile);
    return {
      publicUrl: `http://${ports['public']}`,
      dedicatedUrl: `http://${ports['dedicated']}`,
      running,
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Imports a chain into a directory of its own and serves it. */
export async function startOurNode(
  options: readonly string[] = [],
  chain: ChainFiles = officialChain,
): Promise<OurNode> {
  const data = await tempDir('data');
  try {
    await runCli(importArguments(data.path, chain));
    const node = await serve(data.path, options);
    const stop = async (): Promise<void> => {
      await node.stop();
      await data[Symbol.asyncDispose]();
    };
    return { ...node, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await data[Symbol.asyncDispose]();
    throw error;
  }
}
