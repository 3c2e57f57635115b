import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeStoreContract } from '../../../test/support/store/contract.ts';
import { makeChain } from '../../../test/support/store/contract-chain.ts';
import type { Store } from '../interface.ts';
import { openLmdbStore, openWrittenStore } from './index.ts';
import type { LmdbStoreOptions } from './options.ts';

const failures: unknown[] = [];
const openWritten = (options: LmdbStoreOptions): Promise<Store> =>
  openWrittenStore(options, { onFailure: (error) => failures.push(error) });

describeStoreContract('lmdb', (options) => subject(openLmdbStore, options));
describeStoreContract('lmdb with a writer', (options) => subject(openWritten, options));

async function subject(
  open: (options: LmdbStoreOptions) => Promise<Store>,
  options: { readonly undoWindow?: number },
) {
  const path = await mkdtemp(join(tmpdir(), 'chain-query-store-'));
  const openStore = () => open({ path, ...options, mapSizeBytes: 2 ** 30 });
  let store = await openStore();
  return {
    store,
    async reopen() {
      await store.close();
      store = await openStore();
      return store;
    },
    async dispose() {
      await store.close();
      await rm(path, { recursive: true });
    },
  };
}

it('does not stand still while a writer writes', async () => {
  const { store, dispose } = await subject(openWritten, {});
  const turns = { now: 0 };
  const timer = setInterval(() => turns.now++, 1);
  const content = { diff: { slots: Array.from({ length: 50_000 }, (_, at) => slot(at)) } };
  await store.append(makeChain(undefined, [content]));
  clearInterval(timer);
  await dispose();
  expect(turns.now).toBeGreaterThan(5);
  expect(failures).toEqual([]);
});

function slot(at: number): readonly [Uint8Array, Uint8Array, Uint8Array] {
  const key = new Uint8Array(32);
  new DataView(key.buffer).setUint32(0, at);
  return [new Uint8Array(20), key, new Uint8Array([1])];
}
