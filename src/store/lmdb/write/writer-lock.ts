import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../../error.ts';

const FILE = 'writer.lock';
const SQLITE_BUSY = 5;

/**
 * Takes the right to follow or import into a folder until it is given back or the process ends, or throws. LMDB lets several processes write in turn, which is
 * what a backfill does; two that move the head would undo each other's work.
 *
 * The kernel's own lock on a file: it goes with the process, also at kill -9, and knows nothing of process ids, which
 * are used again and mean something else in another container. Node has no call for it, but SQLite, which comes with
 * Node, takes one for an exclusive transaction. The database stays empty.
 */
export function holdWriterLock(path: string): Disposable {
  let database: DatabaseSync | undefined;
  try {
    const file = join(path, FILE);
    database = new DatabaseSync(file);
    // SQLite opens what it cannot write to for reading, and a reader's lock keeps nobody away.
    accessSync(file, constants.W_OK);
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (cause) {
    database?.close();
    if ((cause as { readonly errcode?: number }).errcode === SQLITE_BUSY) {
      throw new StoreError(
        'inUse',
        `${path} is already written by another process, a serve --upstream or an import (lsof ${join(path, FILE)} names it): stop it first, or use another --data`,
        { cause },
      );
    }
    throw new StoreError('unwritable', `${path} cannot be written to`, { cause });
  }
  const held = database;
  return { [Symbol.dispose]: () => held.close() };
}
