import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { expect, it } from 'vitest';
import { makeChain } from '../../../test/support/store/contract-chain.ts';
import { openLmdbStore } from './index.ts';
import { sizesOf } from './sizes.ts';

async function inFolder(use: (path: string) => Promise<void>): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), 'chain-query-sizes-'));
  try {
    await use(path);
  } finally {
    await rm(path, { recursive: true });
  }
}

it('is the size of the file, and the room below the limit of the map', () =>
  inFolder(async (path) => {
    const mapSizeBytes = 2 ** 24;
    await using store = await disposable(openLmdbStore({ path, mapSizeBytes }));
    const before = store.sizes();
    await store.append(
      makeChain(
        undefined,
        Array.from({ length: 50 }, () => ({})),
      ),
    );
    const after = store.sizes();
    expect(after.bytes).toBeGreaterThan(before.bytes);
    const file = await stat(join(path, 'data.mdb'));
    expect(after.bytes).toBeLessThanOrEqual(file.size);
    expect(after.roomBytes).toBe(mapSizeBytes - after.bytes);
    expect(after.oldestReader).toBe(0);
  }));

it('has no room where the disk has less than is kept free', () =>
  inFolder(async (path) => {
    await using store = await disposable(openLmdbStore({ path, diskReserveBytes: 2 ** 60 }));
    expect(store.sizes().roomBytes).toBe(0);
  }));

it('counts the changes since the snapshot of the oldest reader', () =>
  inFolder(async (path) => {
    const root = open<Uint8Array, Uint8Array>({ path, encoding: 'binary', keyEncoding: 'binary' });
    const put = (byte: number): Promise<unknown> => root.put(Uint8Array.of(byte), Uint8Array.of(1));
    const oldest = (): number => sizesOf({ path, tables: { root }, limit: 2 ** 30, reserve: 0 }).oldestReader;
    await put(1);
    expect(oldest()).toBe(0);
    const read = root.useReadTransaction();
    for (const byte of [2, 3, 4]) await put(byte);
    expect(oldest()).toBe(3);
    read.done();
    expect(oldest()).toBe(0);
    await root.close();
  }));

async function disposable<T extends { close(): Promise<void> }>(
  opening: Promise<T>,
): Promise<T & AsyncDisposable> {
  const store = await opening;
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}
