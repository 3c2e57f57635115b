import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeStoreContract } from '../contract.ts';
import { openLmdbStore } from './index.ts';

describeStoreContract('lmdb', async (options) => {
  const path = await mkdtemp(join(tmpdir(), 'chain-query-store-'));
  const openStore = () => openLmdbStore({ path, ...options, mapSizeBytes: 2 ** 30 });
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
});
