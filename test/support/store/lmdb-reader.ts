/* oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin */
// A reading thread for tests: answers each head it is told with what it sees.
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { openLmdbStore } from '../../../src/store/lmdb/index.ts';

if (parentPort === null) throw new Error('not a worker thread');
const store = await openLmdbStore(workerData);
parentPort.postMessage('ready');
for (;;) {
  const [told] = (await once(parentPort, 'message')) as [number | 'close'];
  if (told === 'close') break;
  let logs = 0;
  for await (const match of store.findLogs({ addresses: [], topics: [] }, 0, told)) {
    logs += match.indexes.length;
  }
  parentPort.postMessage({ head: store.marks()?.head.number, logs });
}
await store.close();
parentPort.close();
