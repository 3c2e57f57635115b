import { StoreError } from '../error.ts';
import { checkSchema, readOrCreateSeed } from './meta.ts';
import type { LmdbStoreOptions } from './options.ts';
import { storeFile } from './store-file.ts';
import { openTables, type Tables } from './tables.ts';
import { createPostingPrefix, type PostingPrefix } from './value-hash.ts';
import { asStoreError } from './write/disk-trouble.ts';
import { reserveLockFile } from './write/lock-file.ts';

export const defaultUndoWindow = 256;
export const defaultMapSizeBytes = 2 ** 40;

/** An open file of a store, with what its readers and its writer need. */
export interface StoreParts {
  readonly path: string;
  readonly tables: Tables;
  readonly prefix: PostingPrefix;
  readonly undoWindow: number;
  readonly limit: number;
  readonly reserve: number;
  readonly readOnly: boolean;
}

/** Opens the file of a store, and makes it if it is to be written. */
export async function openParts(options: LmdbStoreOptions): Promise<StoreParts> {
  const readOnly = options.readOnly ?? false;
  const limit = options.mapSizeBytes ?? defaultMapSizeBytes;
  if ((await storeFile(options.path)) === 'foreign') {
    throw new StoreError('corrupt', `data.mdb in ${options.path} is not a store`);
  }
  const {
    path,
    undoWindow = defaultUndoWindow,
    diskReserveBytes: reserve = 0,
    unsafeNoSync = false,
  } = options;
  try {
    reserveLockFile(path, readOnly);
    const tables = openTables({ path, mapSizeBytes: limit, readOnly, unsafeNoSync });
    checkSchema(tables);
    const prefix = await createPostingPrefix(readOrCreateSeed(tables, readOnly));
    return { path, tables, prefix, undoWindow, limit, reserve, readOnly };
  } catch (error) {
    throw asStoreError(error, path);
  }
}
