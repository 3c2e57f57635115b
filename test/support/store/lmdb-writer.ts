// A writing process for tests: appends until it is killed, or re-anchors each time.

import { openLmdbStore } from '../../../src/store/lmdb/index.ts';
import { address, makeChain, makeOutcome, topic, word } from './contract-chain.ts';

const [path = '', mode = 'append'] = process.argv.slice(2);
const store = await openLmdbStore({ path, mapSizeBytes: 2 ** 30, undoWindow: 8 });
const logOf = (number: number) => ({
  transactionIndex: 0,
  address: address(7),
  topics: [topic(number % 10)],
  data: word(number),
});
process.send?.('ready');
for (let copy = 0; ; copy++) {
  const parent = store.marks()?.head;
  const number = parent === undefined ? 0 : parent.number + 1;
  const content = {
    logs: [logOf(number)],
    diff: { accounts: [[address(number % 50), word(number)] as const] },
  };
  if (mode === 'append') await store.append([makeOutcome(parent, content)]);
  else {
    const contents = Array.from({ length: 20 }, () => ({ ...content, salt: `${process.pid} ${copy}` }));
    await store.append(makeChain(parent, contents), { reanchor: true, partial: true });
  }
}
