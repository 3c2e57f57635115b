import { accessSync } from 'node:fs';
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from '../../store/interface.ts';
import { openLmdbStore } from '../../store/lmdb/index.ts';
import { holdWriterLock } from '../../store/lmdb/write/writer-lock.ts';
import { SnapshotError } from './error.ts';

/** Which store, and how large it may become. */
export interface StorePlace {
  readonly data: string;
  readonly storeMapSize: number;
  readonly diskReserve: number;
}

/** A store that is read, while others may write to it. */
export async function openSource({ data: path, storeMapSize: mapSizeBytes }: StorePlace): Promise<Store> {
  try {
    // LMDB would make the folder before it finds that it is empty.
    accessSync(path);
    return await openLmdbStore({ path, mapSizeBytes, readOnly: true });
  } catch (cause) {
    throw new Error(`there is no store at ${path}`, { cause });
  }
}

/** A store that is being made. */
export interface Target {
  readonly store: Store;
  /** Closes it, and gives it its place: from now on it is found there. */
  complete(): Promise<void>;
  /** Closes it as it is: not found by anybody but another run of the same. */
  leave(): Promise<void>;
  /** Closes it, and deletes what was written. */
  discard(): Promise<void>;
}

/**
 * A store beside its place, which it takes once it is whole: until then, nothing there looks like one. What an earlier run left is gone on
 * with if `isOwn` says so, and deleted otherwise.
 */
export async function openTarget(
  { data, storeMapSize: mapSizeBytes, diskReserve: diskReserveBytes }: StorePlace,
  isOwn: (store: Store) => Promise<boolean>,
): Promise<Target> {
  const path = `${data.replace(/\/+$/, '')}.restoring`;
  await expectNothing(data);
  await mkdir(path, { recursive: true });
  const lock = holdWriterLock(path);
  const open = (): Promise<Store> => openLmdbStore({ path, mapSizeBytes, diskReserveBytes });
  let store = await open();
  if (!(await isOwn(store))) {
    await store.close();
    for (const name of ['data.mdb', 'lock.mdb']) await rm(join(path, name), { force: true });
    store = await open();
  }
  const leave = async (): Promise<void> => {
    await store.close();
    lock[Symbol.dispose]();
  };
  return {
    store,
    leave,
    async complete() {
      await leave();
      // A folder that is there and empty is one that somebody made for this.
      await rmdir(data).catch(unlessMissing);
      await rename(path, data);
    },
    async discard() {
      await leave();
      await rm(path, { recursive: true, force: true });
    },
  };
}

async function expectNothing(path: string): Promise<void> {
  const names = (await readdir(path).catch(unlessMissing)) ?? [];
  if (names.length > 0) throw new SnapshotError(`${path} is not empty: restore into a new folder`);
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
