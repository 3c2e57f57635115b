import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  address,
  createRandom,
  makeChain,
  randomContent,
} from '../../../test/support/store/contract-chain.ts';
import { readAll } from '../../../test/support/store/contract-observe.ts';
import { numberedChain } from '../../../test/support/store/lmdb-chain.ts';
import { type LmdbStore, openLmdbStore } from './index.ts';
import { trailingNumber, versionNumber } from './keys.ts';
import { openTables, type Table, type Tables } from './tables.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const ofSeven = { addresses: [address(7)], topics: [] };

let path: string;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'chain-query-lmdb-'));
});
afterEach(async () => {
  await rm(path, { recursive: true, force: true });
});

const open = (at: string): Promise<LmdbStore> =>
  openLmdbStore({ path: at, mapSizeBytes: 2 ** 30, undoWindow: 8, unsafeNoSync: true });

async function withTables<T>(use: (tables: Tables) => T, at = path): Promise<T> {
  const tables = openTables({ path: at, mapSizeBytes: 2 ** 30, readOnly: false, unsafeNoSync: true });
  try {
    return use(tables);
  } finally {
    await tables.root.close();
  }
}

const rows = (table: Table) => [...table.getRange({ start: new Uint8Array(1) })];

/** Rows as far as they do not depend on the store's seed. */
const shapes = (table: Table): string[] =>
  rows(table)
    .map(({ key, value }) => `${key[0]} ${trailingNumber(key)} ${value.length}`)
    .toSorted();

describe(`history in lmdb (seed ${seed})`, () => {
  it('holds the same rows whether blocks came from above or from below', async () => {
    const chain = numberedChain(1400);
    const upward = await open(join(path, 'upward'));
    for (let from = 0; from < chain.length; from += 50) await upward.append(chain.slice(from, from + 50));
    await upward.close();
    const downward = await open(join(path, 'downward'));
    await downward.append(chain.slice(900, 950), { partial: true });
    for (let from = 950; from < chain.length; from += 50) {
      const lowest = downward.marks()?.lowest.number ?? 0;
      await downward.append(chain.slice(from, from + 50));
      await downward.prepend(chain.slice(Math.max(0, lowest - 93), lowest));
    }
    await downward.prepend(chain.slice(0, downward.marks()?.lowest.number));
    await downward.close();
    for (const name of [
      'canonical',
      'numbers',
      'blocks',
      'receipts',
      'logs',
      'postings',
      'recent',
    ] as const) {
      const [up, down] = await Promise.all(
        ['upward', 'downward'].map((side) => withTables((tables) => shapes(tables[name]), join(path, side))),
      );
      expect(down, name).toEqual(up);
    }
  });

  it('keeps no row that nobody can read, but for the bucket of the lowest block', async () => {
    const random = createRandom(seed);
    const chain = makeChain(
      undefined,
      Array.from({ length: 900 }, () => randomContent(random)),
    );
    const store = await open(path);
    await store.append(chain);
    for (let calls = 0; await store.prune(600, 200); calls++) expect(calls).toBeLessThan(1000);
    await store.close();
    await withTables((tables) => {
      const first = (table: Table): number => Math.min(...rows(table).map(({ key }) => trailingNumber(key)));
      expect(first(tables.canonical)).toBe(512);
      expect(first(tables.recent)).toBeGreaterThanOrEqual(512);
      expect(first(tables.postings)).toBe(2);
      expect(first(tables.hashes)).toBe(600 - 256);
      const blocks = [tables.canonical, tables.numbers, tables.headers, tables.blocks, tables.receipts];
      for (const table of blocks) expect(rows(table).length).toBe(900 - 512);
      for (const [table, size] of [
        [tables.accounts, 20],
        [tables.slots, 52],
        [tables.wipes, 20],
      ] as const) {
        const old = rows(table).filter(({ key }) => versionNumber(key) <= 600);
        const subjects = new Set(old.map(({ key }) => Buffer.from(key.subarray(0, size)).toString('hex')));
        expect(old.length).toBe(subjects.size);
      }
    });
  });

  it('is one chain when one process appends and another one prepends', { timeout: 60_000 }, async () => {
    const chain = numberedChain(1200);
    const store = await open(path);
    await store.append(chain.slice(600, 601), { partial: true });
    const child = fork(
      new URL('../../../test/support/store/lmdb-prepender.ts', import.meta.url),
      [path, '1200'],
      { stdio: 'inherit' },
    );
    const exit = once(child, 'exit');
    for (let next = 601; next < 1200; next += 3) {
      await store.append(chain.slice(next, next + 3));
      // Lets the other process have its turn.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect((await exit)[0]).toBe(0);
    expect(store.marks()).toMatchObject({ lowest: { number: 0 }, anchor: { number: 600 } });
    const found = await readAll(store.findLogs(ofSeven, 0, 1199));
    expect(found.map(({ block }) => block.hash)).toEqual(chain.map(({ hash }) => hash));
    await store.close();
  });

  it('refuses a file that is no store, which LMDB would end the process for', async () => {
    await writeFile(join(path, 'data.mdb'), Buffer.alloc(4_096, 7));
    await expect(openLmdbStore({ path })).rejects.toMatchObject({ code: 'corrupt' });
  });

  it('refuses a store of another form', async () => {
    const store = await open(path);
    await store.append(numberedChain(1));
    await store.close();
    const key = Buffer.from('\u0001schema');
    for (const [form, words] of [
      [undefined, 'no longer the older one'],
      [1, 'no longer the older one'],
      [4, 'a newer release wrote'],
    ] as const) {
      await withTables((tables) => {
        if (form === undefined) tables.meta.removeSync(key);
        else tables.meta.putSync(key, Uint8Array.of(form));
      });
      const refused = { code: 'schema', message: expect.stringContaining(words) as string };
      await expect(open(path)).rejects.toMatchObject(refused);
      await expect(openLmdbStore({ path, readOnly: true })).rejects.toMatchObject(refused);
    }
  });
});
