import { cp, mkdir } from 'node:fs/promises';
import { verifyStore } from '../../../src/maintenance/verify/verify.ts';
import { openTables, type Table, type Tables } from '../../../src/store/lmdb/tables.ts';
import { quietModules, verifyOptions, type WorkDir, workDir } from './imported-chain.ts';

const flip = (bytes: Uint8Array, at = bytes.length - 1): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
};

/** Turns one bit of a row that must be there. */
export function spoil(table: Table, key: Uint8Array, at?: number): void {
  const value = table.getBinary(key);
  if (value === undefined) throw new Error('there is no such row');
  table.putSync(key, flip(value, at));
}

/** Deletes a row that must be there. */
export function remove(table: Table, key: Uint8Array): void {
  if (!table.doesExist(key)) throw new Error('there is no such row');
  table.removeSync(key);
}

/** Cuts the last byte off a row. */
export function truncate(table: Table, key: Uint8Array): void {
  table.putSync(key, Buffer.from(table.getBinary(key) ?? []).subarray(0, -1));
}

/** Damages a copy of the sound store and says what verifying it gives. */
export async function verifyDamaged(sound: WorkDir, damage: (tables: Tables) => void): Promise<unknown> {
  await using dir = await workDir();
  await mkdir(dir.data);
  await cp(sound.data, dir.data, { recursive: true });
  const tables = openTables({
    path: dir.data,
    mapSizeBytes: 2 ** 30,
    readOnly: false,
    unsafeNoSync: true,
  });
  tables.root.transactionSync(() => damage(tables));
  await tables.root.close();
  return await verifyStore(verifyOptions(dir), quietModules()).catch((error: unknown) => error);
}

/** An error's messages, its causes' too. */
export function wordsOf(error: unknown): string {
  const words: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) words.push(cause.message);
  return words.join(': ');
}
