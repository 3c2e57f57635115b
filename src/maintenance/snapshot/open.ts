import { accessSync } from 'node:fs';
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { cqlOptions } from '../../config/cql-options.ts';
import { expectPackages } from '../../config/packages/optional-packages.ts';
import type { CommandOptions } from '../../config/table.ts';
import { UsageError } from '../../config/usage-error.ts';
import type { Store, StoreReader } from '../../store/interface.ts';
import { openLmdbStore } from '../../store/lmdb/index.ts';
import { holdWriterLock } from '../../store/lmdb/write/writer-lock.ts';
import type { Source, Target } from './ends.ts';
import { SnapshotError } from './error.ts';
import { openSharedSource, openSharedTarget } from './open-shared.ts';

/** Which store, and how large it may become. */
export type StorePlace = Pick<
  CommandOptions<'snapshot'>,
  | 'data'
  | 'storeMapSize'
  | 'diskReserve'
  | 'store'
  | 'storeCredentials'
  | 'storeLease'
  | 'storeGrace'
  | 'undoWindow'
>;

/** A store that is read, while others may write to it. */
export async function openSource(place: StorePlace): Promise<Source> {
  expectPackages(place);
  if (place.store !== undefined) return openSharedSource(await cqlOptions(place));
  const path = folderOf(place);
  try {
    // LMDB would make the folder before it finds that it is empty.
    accessSync(path);
    const store = await openLmdbStore({ path, mapSizeBytes: place.storeMapSize, readOnly: true });
    return { store, close: () => store.close() };
  } catch (cause) {
    throw new Error(`there is no store at ${path}`, { cause });
  }
}

/** A store to restore into: new, or left by an earlier run of the same restore, as `isOwn` says. */
export async function openTarget(
  place: StorePlace,
  isOwn: (store: StoreReader) => Promise<boolean>,
  signal: AbortSignal,
): Promise<Target> {
  expectPackages(place);
  return place.store === undefined
    ? openFolder(place, isOwn)
    : openSharedTarget(await cqlOptions(place), isOwn, signal);
}

function folderOf({ data }: StorePlace): string {
  if (data === undefined) throw new UsageError('--data or --store is needed');
  return data;
}

/**
 * A store beside its place, which it takes once it is whole: until then, nothing there looks like one. What an earlier run left is gone on
 * with if `isOwn` says so, and deleted otherwise.
 */
async function openFolder(
  place: StorePlace,
  isOwn: (store: StoreReader) => Promise<boolean>,
): Promise<Target> {
  const { storeMapSize: mapSizeBytes, diskReserve: diskReserveBytes } = place;
  const data = folderOf(place);
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
