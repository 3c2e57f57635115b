// A writing process for tests: appends until it is killed.
import { address, makeOutcome, topic, word } from '../contract-chain.ts';
import { openLmdbStore } from './index.ts';

const store = await openLmdbStore({ path: process.argv[2] ?? '', mapSizeBytes: 2 ** 30, undoWindow: 8 });
process.send?.('ready');
for (;;) {
  const parent = store.marks()?.head;
  const number = parent === undefined ? 0 : parent.number + 1;
  const logs = [
    { transactionIndex: 0, address: address(7), topics: [topic(number % 10)], data: word(number) },
  ];
  await store.append([
    makeOutcome(parent, { logs, diff: { accounts: [[address(number % 50), word(number)]] } }),
  ]);
}
