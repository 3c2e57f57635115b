import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { StoreError } from '../error.ts';

/** Makes a folder and those above it. Node's own tries for ever where the system says ENOENT to it, as below /proc. */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !existsSync(folder); folder = dirname(folder)) missing.unshift(folder);
  try {
    for (const folder of missing) if (!existsSync(folder)) mkdirSync(folder);
  } catch (cause) {
    throw new StoreError('unwritable', `the folder ${path} cannot be made`, { cause });
  }
  if (!statSync(path).isDirectory()) throw new StoreError('unwritable', `${path} is a file, not a folder`);
}
