import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRandom, makeChain, randomContent } from '../../../test/support/store/contract-chain.ts';
import type { Outcome } from '../../chain/outcome.ts';
import { type Hex, toHex } from '../../primitives/hex.ts';
import { type LmdbStore, openLmdbStore } from './index.ts';
import { openTables } from './tables.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

let path: string;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'chain-query-lmdb-'));
});
afterEach(async () => {
  await rm(path, { recursive: true, force: true });
});

const open = (): Promise<LmdbStore> =>
  openLmdbStore({ path, mapSizeBytes: 2 ** 30, undoWindow: 8, unsafeNoSync: true });

/** The store as a version without the index would have left it. */
async function withoutIndex(): Promise<void> {
  const tables = openTables({ path, mapSizeBytes: 2 ** 30, readOnly: false, unsafeNoSync: true });
  tables.transactions.clearSync();
  tables.meta.removeSync(Buffer.from('\u0001transactions'));
  tables.meta.putSync(Buffer.from('\u0001schema'), Uint8Array.of(2));
  await tables.root.close();
}

const hashesOf = ({ receipts }: Outcome): readonly Hex[] =>
  receipts.map(({ transactionHash }) => toHex(transactionHash));

/** How many transactions are found, all of them where they are. */
function found(store: LmdbStore, chain: readonly Outcome[]): number {
  let count = 0;
  for (const outcome of chain) {
    for (const [index, hash] of hashesOf(outcome).entries()) {
      const place = store.transaction(hash);
      if (place === undefined) continue;
      expect(place).toEqual({ number: outcome.number, hash: outcome.hash, index });
      count++;
    }
  }
  return count;
}

const total = (chain: readonly Outcome[]): number =>
  chain.reduce((sum, { receipts }) => sum + receipts.length, 0);

describe(`transactions by hash in lmdb (seed ${seed})`, () => {
  it('are indexed in steps, the newest first, where a store has been without', async () => {
    const random = createRandom(seed);
    const chain = makeChain(
      undefined,
      Array.from({ length: 60 }, () => randomContent(random)),
    );
    let store = await open();
    await store.append(chain.slice(0, 40));
    expect(found(store, chain)).toBe(total(chain.slice(0, 40)));
    await store.close();
    await withoutIndex();
    store = await open();
    expect(store.transactionsFrom()).toBe(40);
    expect(found(store, chain)).toBe(0);
    await store.append(chain.slice(40, 50));
    expect(store.transactionsFrom()).toBe(40);
    expect(found(store, chain)).toBe(total(chain.slice(40, 50)));
    let from = 40;
    while (await store.indexTransactions(5)) {
      const now = store.transactionsFrom() ?? 0;
      expect(now).toBeLessThan(from);
      expect(found(store, chain)).toBe(total(chain.slice(now, (store.marks()?.head.number ?? 0) + 1)));
      from = now;
      if (from > 20) await store.append(chain.slice((store.marks()?.head.number ?? 0) + 1).slice(0, 1));
    }
    const head = store.marks()?.head.number ?? 0;
    expect(store.transactionsFrom()).toBe(0);
    expect(found(store, chain)).toBe(total(chain.slice(0, head + 1)));
    await store.close();
  });

  it('are found on while a store without the index loses blocks that it has not come to', async () => {
    const random = createRandom(seed + 1);
    const chain = makeChain(
      undefined,
      Array.from({ length: 30 }, () => randomContent(random)),
    );
    let store = await open();
    await store.append(chain);
    await store.close();
    await withoutIndex();
    store = await open();
    await store.revertTo(25);
    expect(store.transactionsFrom()).toBe(26);
    await store.append(chain.slice(26));
    expect(found(store, chain)).toBe(total(chain.slice(26)));
    while (await store.indexTransactions(3));
    expect(found(store, chain)).toBe(total(chain));
    await store.close();
  });

  it('has another program leave a store alone once it is indexed', async () => {
    const random = createRandom(seed + 2);
    const store = await open();
    await store.append(
      makeChain(
        undefined,
        Array.from({ length: 3 }, () => randomContent(random)),
      ),
    );
    await store.close();
    await withoutIndex();
    const again = await open();
    await again.indexTransactions(100);
    await again.close();
    const tables = openTables({ path, mapSizeBytes: 2 ** 30, readOnly: true, unsafeNoSync: true });
    expect(tables.meta.getBinary(Buffer.from('\u0001schema'))).toEqual(Buffer.of(3));
    await tables.root.close();
  });
});
