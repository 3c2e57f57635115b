import { expect, it } from 'vitest';
import { address, makeChain, topic, word } from '../../../test/support/store/contract-chain.ts';
import type { Log } from '../../chain/log.ts';
import { toHex } from '../../primitives/hex.ts';
import { createMemoryStore } from '../../store/memory/index.ts';
import { removedBlocks } from './removed.ts';

const textOf = ({ transactionIndex, address: at, topics, data }: Log): string =>
  [transactionIndex, ...[at, ...topics, data].map(toHex)].join();

it('tells of blocks newest first, with copies of their logs and changes', async () => {
  const store = createMemoryStore();
  const logOf = (transactionIndex: number): Log => ({
    transactionIndex,
    address: address(transactionIndex),
    topics: [topic(1), topic(transactionIndex)],
    data: word(transactionIndex),
  });
  const outcomes = makeChain(undefined, [{}, {}, { logs: [logOf(0), logOf(2)] }, { logs: [logOf(1)] }]);
  await store.append(outcomes);
  const removed = await removedBlocks(store, 2, 3);
  expect(removed.map(({ number }) => number)).toEqual([3, 2]);
  for (const { number, hash, logs, receipts, diffBytes } of removed) {
    const outcome = outcomes.find((block) => block.number === number);
    expect(hash).toBe(outcome?.hash);
    expect(toHex(diffBytes)).toBe(toHex(outcome?.diffBytes ?? new Uint8Array(1)));
    expect(diffBytes.buffer).not.toBe(outcome?.diffBytes.buffer);
    // As text: a copy is plain bytes, which were a Buffer.
    expect(logs.map(textOf)).toEqual(outcome?.logs.map(textOf));
    expect(logs.length).toBeGreaterThan(0);
    expect(receipts.map(({ transactionHash }) => toHex(transactionHash))).toEqual(
      outcome?.receipts.map(({ transactionHash }) => toHex(transactionHash)),
    );
    expect(receipts.map(({ gasUsed }) => gasUsed)).toEqual(outcome?.receipts.map(({ gasUsed }) => gasUsed));
    for (const log of logs) {
      expect(outcome?.logs.some(({ data }) => data.buffer === log.data.buffer)).toBe(false);
    }
  }
});

it('says when a block is not there', async () => {
  const store = createMemoryStore();
  await store.append(makeChain(undefined, [{}, {}]));
  await expect(removedBlocks(store, 1, 2)).rejects.toThrow('block 2 is missing');
});
