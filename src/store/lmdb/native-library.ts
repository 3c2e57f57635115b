import { existsSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Has lmdb load its native library from the package of this platform, where that brings one: the packages that lmdb publishes have it four
 * times over, for other releases of Node, and would be a third of what a server installs. A checkout has lmdb's own.
 */
export function useInstalledLibrary(env: NodeJS.ProcessEnv, folder = platformFolder()): void {
  if (folder === undefined || env['LMDB_PREBUILD'] !== undefined) return;
  // What it is told to look into has this name.
  if (existsSync(join(folder, 'prebuilds'))) env['LMDB_PREBUILD'] = folder;
}

/** The folder of this platform's package; undefined in a checkout. */
function platformFolder(): string | undefined {
  const loader = find('@chain-query/native', import.meta.url);
  if (loader === undefined) return undefined;
  const libcs =
    process.platform === 'linux' ? ['-gnu', '-musl'] : process.platform === 'win32' ? ['-msvc'] : [''];
  for (const libc of libcs) {
    const found = find(`@chain-query/native-${process.platform}-${process.arch}${libc}`, loader);
    if (found !== undefined) return dirname(found);
  }
  return undefined;
}

function find(name: string, from: string): string | undefined {
  try {
    return findPackageJSON(name, from);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

// Before lmdb itself is loaded, which is why this is a module of its own.
useInstalledLibrary(process.env);
