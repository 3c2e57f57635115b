// Snapshots of a real chain: what the command writes and restores, and what `verify` says of it.
import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  importOptions,
  quietModules,
  verifyOptions,
  type WorkDir,
  workDir,
} from '../../../test/support/follow/imported-chain.ts';
import { makePartialCopy } from '../../../test/support/follow/partial-copy.ts';
import { plain, readAll } from '../../../test/support/store/contract-observe.ts';
import { loadOptions } from '../../config/load.ts';
import type { Store } from '../../store/interface.ts';
import { openLmdbStore } from '../../store/lmdb/index.ts';
import { importChain } from '../import/import.ts';
import { verifyStore } from '../verify/verify.ts';
import { exportStore, restoreStore, type SnapshotModules } from './snapshot.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let complete: WorkDir;
let partial: WorkDir;
beforeAll(async () => {
  complete = await workDir();
  await importChain(importOptions(complete), quietModules());
  partial = await workDir();
  await makePartialCopy(partial.data, { lowest: 3, anchor: 30 });
});
afterAll(async () => {
  await complete[Symbol.asyncDispose]();
  await partial[Symbol.asyncDispose]();
});

const optionsOf = (data: string, snapshot: string) =>
  loadOptions('snapshot', {
    args: ['--data', data, '--snapshot', snapshot, '--store-map-size', '1GiB', '--log-level', 'silent'],
    env: {},
  });
const quiet = (changes: Partial<SnapshotModules> = {}): SnapshotModules => {
  return { signal: new AbortController().signal, onBlocks: () => {}, onKeys: () => {}, ...changes };
};

/** Every answer of a store, at each block that it holds. */
async function answersOf(data: string): Promise<unknown> {
  const store: Store = await openLmdbStore({ path: data, mapSizeBytes: 2 ** 30, readOnly: true });
  try {
    const marks = await store.marks();
    if (marks === undefined) return 'empty';
    const { lowest, anchor, head } = marks;
    const blocks: unknown[] = [];
    for (let number = lowest.number; number <= head.number; number++) {
      const ref = { number, hash: (await store.canonicalHash(number)) ?? '0x' };
      const { receipts = [], logs } = (await store.receipts(ref)) ?? {};
      blocks.push({
        ...ref,
        number: await store.numberOf(ref.hash),
        parts: plain([await store.header(ref), await store.block(ref), receipts]),
        logs: plain(Array.from({ length: logs?.length ?? 0 }, (_, index) => logs?.log(index))),
        time: [logs?.timestamp, logs?.timestampMs],
        places: await Promise.all(
          receipts.map(async ({ transactionHash }) =>
            store.transaction(`0x${Buffer.from(transactionHash).toString('hex')}`),
          ),
        ),
        diff: number > ((await store.undoFloor()) ?? 0) ? plain(await store.diffBytes(number)) : undefined,
        state: number < anchor.number ? [] : (await readAll(store.scanState(number))).map(plain),
        known:
          number < anchor.number ? [] : (await readAll(store.scanVersions(number, head.number))).map(plain),
        found: (await readAll(store.findLogs({ addresses: [], topics: [] }, number, number))).map(
          ({ indexes }) => indexes,
        ),
      });
    }
    const texts = [await store.getMeta('genesis'), await store.getMeta('rules')];
    return { marks, blocks, texts, undoFloor: await store.undoFloor(), isComplete: await store.isComplete() };
  } finally {
    await store.close();
  }
}

describe.each([
  ['a complete copy', () => complete, true],
  ['a partial copy with history', () => partial, false],
])('a snapshot of %s', (_, source, rootChecked) => {
  it('gives a store that answers alike and verifies', async () => {
    await using dir = await workDir();
    const folder = join(dir.path, 'snapshot');
    await exportStore(optionsOf(source().data, folder), quiet());
    await restoreStore(optionsOf(dir.data, folder), quiet());
    expect(await answersOf(dir.data)).toEqual(await answersOf(source().data));
    expect(await verifyStore(verifyOptions(dir), quietModules())).toMatchObject({ rootChecked });
    expect((await readdir(dir.path)).toSorted()).toEqual(['data', 'snapshot']);
  });

  it('writes nothing anew when nothing changed', async () => {
    await using dir = await workDir();
    const first = await exportStore(optionsOf(source().data, dir.path), quiet());
    const second = await exportStore(optionsOf(source().data, dir.path), quiet());
    expect(first.written).toBe(first.manifest.segments.length);
    expect(second).toEqual({ manifest: first.manifest, written: 0 });
  });
});

it('leaves no store when it is stopped, and goes on the next time', async () => {
  await using dir = await workDir();
  const folder = join(dir.path, 'snapshot');
  await exportStore(optionsOf(partial.data, folder), quiet());
  const stop = new AbortController();
  const stopped = quiet({
    signal: stop.signal,
    onBlocks: (done) => {
      if (done > 1) stop.abort(new Error('stopped'));
    },
  });
  await expect(restoreStore(optionsOf(dir.data, folder), stopped)).rejects.toThrow('stopped');
  expect(existsSync(dir.data)).toBe(false);
  let first: number | undefined;
  const resumed = quiet({
    onBlocks: (done) => {
      first ??= done;
    },
  });
  await restoreStore(optionsOf(dir.data, folder), resumed);
  // What was above the anchor is there already.
  expect(first).toBe(27);
  expect(await answersOf(dir.data)).toEqual(await answersOf(partial.data));
});

it('seals nothing when it is stopped', async () => {
  await using dir = await workDir();
  const stop = new AbortController();
  const stopped = quiet({ signal: stop.signal, onKeys: () => stop.abort(new Error('stopped')) });
  await expect(exportStore(optionsOf(complete.data, dir.path), stopped)).rejects.toThrow('stopped');
  expect(existsSync(join(dir.path, 'manifest.json'))).toBe(false);
  await expect(restoreStore(optionsOf(dir.data, dir.path), quiet())).rejects.toThrow('is no snapshot');
  await exportStore(optionsOf(complete.data, dir.path), quiet());
  expect((await readdir(dir.path)).toSorted()).toEqual(['manifest.json', 'segments']);
});

it('restores into what is new or empty, and nowhere else', async () => {
  await using dir = await workDir();
  const folder = join(dir.path, 'snapshot');
  await exportStore(optionsOf(complete.data, folder), quiet());
  await mkdir(dir.data);
  await restoreStore(optionsOf(dir.data, folder), quiet());
  await expect(restoreStore(optionsOf(dir.data, folder), quiet())).rejects.toThrow('is not empty');
});

it('deletes what another restore left', async () => {
  await using dir = await workDir();
  const [one, other] = [join(dir.path, 'one'), join(dir.path, 'other')];
  await exportStore(optionsOf(partial.data, one), quiet());
  await exportStore(optionsOf(complete.data, other), quiet());
  const stop = new AbortController();
  const stopped = quiet({ signal: stop.signal, onBlocks: () => stop.abort(new Error('stopped')) });
  await expect(restoreStore(optionsOf(dir.data, one), stopped)).rejects.toThrow('stopped');
  await restoreStore(optionsOf(dir.data, other), quiet());
  expect(await answersOf(dir.data)).toEqual(await answersOf(complete.data));
});
