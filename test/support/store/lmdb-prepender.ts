// A process for tests that prepends the blocks of `numberedChain` while another one appends.

import { openLmdbStore } from '../../../src/store/lmdb/index.ts';
import { numberedChain } from './lmdb-chain.ts';

const [path = '', length = '0'] = process.argv.slice(2);
const chain = numberedChain(Number(length));
const store = await openLmdbStore({ path, mapSizeBytes: 2 ** 30, undoWindow: 8, unsafeNoSync: true });
for (;;) {
  const lowest = store.marks()?.lowest.number ?? 0;
  if (lowest === 0) break;
  await store.prepend(chain.slice(Math.max(0, lowest - 7), lowest));
}
await store.close();
