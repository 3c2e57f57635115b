import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Enough for the header and the slots of as many readers as `openTables` asks for. */
const LOCK_BYTES = 17 * 4_096;

/**
 * Makes the lock file of a new store with all of its pages on disk. LMDB would make it of holes and write to it through
 * memory: where the disk has no room for a page by then, that ends the process with SIGBUS instead of an error.
 */
export function reserveLockFile(path: string, readOnly: boolean): void {
  const file = join(path, 'lock.mdb');
  if (existsSync(file)) return;
  mkdirSync(path, { recursive: true });
  const staged = join(path, `lock.mdb.${randomBytes(8).toString('hex')}`);
  try {
    writeFileSync(staged, new Uint8Array(LOCK_BYTES));
    // Whole or not at all, and never in place of one that another process has made since, and holds.
    linkSync(staged, file);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // A reader of what nobody can write to needs no lock.
    const needsNone = readOnly && ['EROFS', 'EACCES'].includes(code);
    if (!existsSync(file) && !needsNone) throw error;
  } finally {
    rmSync(staged, { force: true });
  }
}
