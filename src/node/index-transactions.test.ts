import { describe, expect, it } from 'vitest';
import { indexOlderTransactions } from './index-transactions.ts';

/** A store whose blocks from `from` on are indexed, ten a step. */
function storeFrom(from: number): Parameters<typeof indexOlderTransactions>[0] & { steps: number } {
  const ref = { number: 5, hash: `0x${'0'.repeat(64)}` } as const;
  return {
    steps: 0,
    marks: () => ({ lowest: ref, anchor: ref, head: { ...ref, number: 100 }, safe: ref, finalized: ref }),
    transactionsFrom: () => from,
    async indexTransactions() {
      this.steps++;
      from = Math.max(5, from - 10);
      return from > 5;
    },
  };
}

describe('indexing older transactions', () => {
  const said: string[] = [];
  const logger = { info: (...words: unknown[]) => said.push(String(words.at(-1))) };

  it('goes on to the lowest block, and says so', async () => {
    const store = storeFrom(40);
    await indexOlderTransactions(store, logger, new AbortController().signal);
    expect(store.steps).toBe(4);
    expect(said).toEqual(['indexing the transactions of older blocks', 'all transactions are indexed']);
  });

  it('has nothing to do or say where all are', async () => {
    said.length = 0;
    const store = storeFrom(5);
    await indexOlderTransactions(store, logger, new AbortController().signal);
    expect([store.steps, said]).toEqual([0, []]);
  });

  it('ends with the node', async () => {
    const ending = new AbortController();
    const store = storeFrom(100_000);
    const indexing = indexOlderTransactions(store, logger, ending.signal);
    setTimeout(() => ending.abort(), 30);
    await indexing;
    expect(store.steps).toBeLessThan(100);
  });
});
