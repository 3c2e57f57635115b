import { accessSync, constants, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { UsageError } from '../config/usage-error.ts';
import type { ChainOptions, DevChain } from './chain.ts';
import { startAnvilChain } from './client/anvil.ts';
import { startOpGethChain } from './client/op-geth.ts';

/** A client of which there is a program on this machine. */
export interface Client {
  readonly command: string;
  start(options: ChainOptions): Promise<DevChain>;
}

interface Asked {
  readonly opGeth: string | undefined;
  readonly anvil: string | undefined;
}

/** The client to run: the one that is named, else op-geth, else anvil. */
export function findClient({ opGeth, anvil }: Asked): Client {
  if (opGeth !== undefined && anvil !== undefined) {
    throw new UsageError('--op-geth and --anvil are two chains: name one');
  }
  if (anvil !== undefined) return { command: existing(anvil), start: startAnvilChain };
  const named = opGeth === undefined ? onPath('op-geth') : existing(opGeth);
  if (named !== undefined) return { command: named, start: startOpGethChain };
  const found = anvilPackage() ?? onPath('anvil');
  if (found !== undefined) return { command: found, start: startAnvilChain };
  throw new Error(
    'a chain client is missing: put op-geth or anvil on PATH, name one with --op-geth FILE or --anvil FILE, or run npm install @foundry-rs/anvil',
  );
}

function existing(file: string): string {
  if (existsSync(file)) return file;
  throw new UsageError(`${file} does not exist`);
}

function onPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The binary for this platform that comes with the npm package. */
function anvilPackage(): string | undefined {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  try {
    const anvil = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json');
    return createRequire(anvil).resolve(`@foundry-rs/anvil-${platform}/bin/anvil`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
