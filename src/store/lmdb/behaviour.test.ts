/* oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  address,
  createRandom,
  makeChain,
  randomContent,
  topic,
  word,
} from '../../../test/support/store/contract-chain.ts';
import { readAll } from '../../../test/support/store/contract-observe.ts';
import { openLmdbStore } from './index.ts';
import { trailingNumber } from './keys.ts';
import { openTables, type Table, type Tables } from './tables.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const mapSizeBytes = 2 ** 30;
const everything = { addresses: [], topics: [] };
const ofSeven = { addresses: [address(7)], topics: [] };

let path: string;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'chain-query-lmdb-'));
});
afterEach(async () => {
  await rm(path, { recursive: true, force: true });
});

async function withTables<T>(read: (tables: Tables) => T, at = path): Promise<T> {
  const tables = openTables({ path: at, mapSizeBytes, readOnly: false, unsafeNoSync: true });
  try {
    return read(tables);
  } finally {
    await tables.root.close();
  }
}

const rows = (table: Table) => [...table.getRange({ start: new Uint8Array(1) })];

/** Every row of every table but the merge's progress, as text. */
function dump(all: Tables): Record<string, string[]> {
  const tables = Object.entries(all).filter(([name]) => name !== 'root');
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  return Object.fromEntries(
    tables.map(([name, table]) => [
      name,
      rows(table)
        .map(({ key, value }) => `${hex(key)} ${hex(value)}`)
        .filter((row) => !row.startsWith(`01${Buffer.from('merge').toString('hex')}`)),
    ]),
  );
}

describe(`lmdb store (seed ${seed})`, () => {
  it('is a folder, whatever its name', async () => {
    const dotted = join(path, 'chain.v1');
    await mkdir(dotted);
    const store = await openLmdbStore({ path: dotted, mapSizeBytes });
    await store.append(makeChain(undefined, [{}]));
    await store.close();
    expect((await readdir(dotted)).toSorted()).toEqual(['data.mdb', 'lock.mdb']);
  });

  it('leaves no byte behind when blocks are reverted', async () => {
    const random = createRandom(seed);
    const chain = makeChain(
      undefined,
      Array.from({ length: 60 }, () => randomContent(random)),
    );
    const store = await openLmdbStore({ path, undoWindow: 100, mapSizeBytes });
    await store.append(chain.slice(0, 40));
    const before = await withTables(dump);
    await store.append(chain.slice(40));
    expect(await withTables(dump)).not.toEqual(before);
    await store.revertTo(39);
    expect(await withTables(dump)).toEqual(before);
    await store.close();
  });

  it('holds the same rows whether blocks came one by one or in bulk', async () => {
    const contents = Array.from({ length: 1400 }, (_, number) => ({
      logs: [0, 1, 2].map((index) => ({
        transactionIndex: 0,
        address: address(index === 0 ? 7 : (number * 13 + index) % 300),
        topics: [topic(number % 5), word(number)],
        data: word(index),
      })),
    }));
    const chain = makeChain(undefined, contents);
    const single = await openLmdbStore({ path, undoWindow: 8, mapSizeBytes, unsafeNoSync: true });
    for (const outcome of chain) await single.append([outcome]);
    const waiting = await withTables((tables) => rows(tables.recent).map(({ key }) => trailingNumber(key)));
    // Head 1399: buckets up to block 1279 are closed and their rows moved, a few per append.
    expect(Math.min(...waiting)).toBeGreaterThanOrEqual(1280);
    const found = await readAll(single.findLogs(ofSeven, 0, 1399));
    expect(found.map((match) => match.block.number)).toEqual(chain.map(({ number }) => number));
    await single.close();

    const other = join(path, 'bulk');
    const bulk = await openLmdbStore({ path: other, undoWindow: 8, mapSizeBytes, unsafeNoSync: true });
    await bulk.append(chain.slice(0, 300));
    await bulk.append(chain.slice(300));
    const shape = ({ key, value }: { key: Uint8Array; value: Uint8Array }) => [
      key[0],
      trailingNumber(key),
      value.length,
    ];
    const shapes = (table: Table) => rows(table).map(shape).map(String).toSorted();
    const one = await withTables((tables) => [shapes(tables.postings), shapes(tables.recent)]);
    await bulk.close();
    const two = await withTables((tables) => [shapes(tables.postings), shapes(tables.recent)], other);
    expect(two).toEqual(one);
  });

  it('keeps a value in order when a bulk append overtakes rows that wait to be merged', async () => {
    const log = (from: Uint8Array) => ({ transactionIndex: 0, address: from, topics: [], data: word(1) });
    const many = Array.from({ length: 250 }, (_, number) => ({
      logs: [
        log(address(7)),
        ...Array.from({ length: 20 }, (__, index) => log(address(100 + number * 20 + index))),
      ],
    }));
    const few = Array.from({ length: 600 }, () => ({ logs: [log(address(7))] }));
    const chain = makeChain(undefined, [...many, ...few]);
    const store = await openLmdbStore({ path, undoWindow: 8, mapSizeBytes, unsafeNoSync: true });
    await store.append(chain.slice(0, 250));
    await store.append(chain.slice(250));
    const found = await readAll(store.findLogs(ofSeven, 0, 849));
    expect(found.map((match) => match.block.number)).toEqual(chain.map(({ number }) => number));
    await store.close();
  });

  it('refuses to grow past its limit, with the numbers, and stays readable', async () => {
    const store = await openLmdbStore({ path, mapSizeBytes: 2 ** 21, unsafeNoSync: true });
    const big = Array.from({ length: 100 }, () => ({
      diff: { codes: [[topic(1), Buffer.alloc(60_000)] as const] },
    }));
    const chain = makeChain(
      undefined,
      big.map((content, index) => ({
        diff: { codes: content.diff.codes.map(([, code]) => [topic(index), code] as const) },
      })),
    );
    const fill = async () => {
      for (const outcome of chain) await store.append([outcome]);
    };
    await expect(fill()).rejects.toMatchObject({ code: 'full', message: expect.stringContaining('2097152') });
    expect(store.marks()?.head.number).toBeGreaterThan(10);
    await store.close();
  });

  it('can be opened for reading only', async () => {
    const store = await openLmdbStore({ path, mapSizeBytes });
    const chain = makeChain(undefined, [{}, {}]);
    await store.append(chain);
    await store.close();
    const reader = await openLmdbStore({ path, mapSizeBytes, readOnly: true });
    expect(reader.marks()?.head.number).toBe(1);
    await expect(reader.revertTo(0)).rejects.toMatchObject({ code: 'readOnly' });
    await reader.close();
  });

  it('shows a new head to another thread as soon as it is told', async () => {
    const store = await openLmdbStore({ path, mapSizeBytes, unsafeNoSync: true });
    const chain = makeChain(
      undefined,
      Array.from({ length: 200 }, () => ({
        logs: [{ transactionIndex: 0, address: address(7), topics: [], data: word(1) }],
      })),
    );
    await store.append(chain.slice(0, 1));
    const worker = new Worker(new URL('../../../test/support/store/lmdb-reader.ts', import.meta.url), {
      workerData: { path, mapSizeBytes },
    });
    await once(worker, 'message');
    for (const outcome of chain.slice(1)) {
      await store.append([outcome]);
      worker.postMessage(outcome.number);
      const [seen] = await once(worker, 'message');
      expect(seen).toEqual({ head: outcome.number, logs: outcome.number + 1 });
    }
    worker.postMessage('close');
    await once(worker, 'exit');
    expect((await readAll(store.findLogs(everything, 0, 199))).length).toBe(200);
    await store.close();
  });

  /** Lets a process write for a random time. */
  async function killWriter(mode: 'append' | 'reanchor', random: (below: number) => number): Promise<void> {
    const child: ChildProcess = fork(
      new URL('../../../test/support/store/lmdb-writer.ts', import.meta.url),
      [path, mode],
      {
        stdio: 'inherit',
      },
    );
    await once(child, 'message');
    await new Promise((resolve) => setTimeout(resolve, random(120)));
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  it('holds one whole copy after kill -9 while it re-anchors', { timeout: 60_000 }, async () => {
    const random = createRandom(seed);
    let before = -1;
    for (let round = 0; round < 6; round++) {
      await killWriter('reanchor', random);
      const store = await openLmdbStore({ path, mapSizeBytes, undoWindow: 8 });
      const marks = store.marks();
      await store.close();
      // Killed before its first commit.
      if (marks === undefined) continue;
      expect(marks.lowest.number).toBeGreaterThanOrEqual(before);
      before = marks.lowest.number;
      expect(marks).toMatchObject({ anchor: marks.lowest, head: { number: marks.lowest.number + 19 } });
      const dumped = await withTables(dump);
      for (const name of ['canonical', 'numbers', 'headers', 'blocks', 'receipts']) {
        expect(dumped[name]?.length).toBe(20);
      }
      expect(dumped['undo']?.length).toBe(8);
    }
    expect(before).toBeGreaterThan(0);
  });

  it('holds whole blocks after kill -9 at any moment', { timeout: 60_000 }, async () => {
    const random = createRandom(seed);
    let before = -1;
    for (let round = 0; round < 6; round++) {
      await killWriter('append', random);
      const store = await openLmdbStore({ path, mapSizeBytes, undoWindow: 8 });
      const head = store.marks()?.head.number ?? -1;
      expect(head).toBeGreaterThanOrEqual(before);
      before = head;
      const dumped = await withTables(dump);
      for (const name of ['canonical', 'numbers', 'headers', 'blocks', 'receipts']) {
        expect(dumped[name]?.length).toBe(head + 1);
      }
      const found = head < 0 ? [] : await readAll(store.findLogs(ofSeven, 0, head));
      expect(found.map((match) => match.block.number)).toEqual(
        Array.from({ length: head + 1 }, (_, number) => number),
      );
      await store.close();
    }
    expect(before).toBeGreaterThan(0);
  });
});
