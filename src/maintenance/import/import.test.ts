import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import {
  importOptions,
  quietModules,
  verifyOptions,
  type WorkDir,
  workDir,
} from '../../../test/support/follow/imported-chain.ts';
import { executeOfficialChain, officialBlocks } from '../../../test/support/serve/executor.ts';
import { officialChain } from '../../../test/support/servers/paths.ts';
import type { Outcome } from '../../chain/outcome.ts';
import { readHeader } from '../../executor/native-executor.ts';
import type { Marks } from '../../store/interface.ts';
import { openLmdbStore } from '../../store/lmdb/index.ts';
import { verifyStore } from '../verify/verify.ts';
import { importChain } from './import.ts';

// Real stores on a disk that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

let outcomes: readonly Outcome[];
const blocks = officialBlocks();
beforeAll(async () => {
  outcomes = await executeOfficialChain();
});

const refOf = (number: number) => ({ number, hash: outcomes[number]?.hash });

async function writeBlocks(dir: WorkDir, items: readonly Uint8Array[]): Promise<string> {
  const path = join(dir.path, `${items.length}.rlp`);
  await writeFile(path, Buffer.concat(items));
  return path;
}

async function marksOf(dir: WorkDir): Promise<Marks | undefined> {
  const store = await openLmdbStore({ path: dir.data, mapSizeBytes: 2 ** 30, readOnly: true });
  try {
    return store.marks();
  } finally {
    await store.close();
  }
}

async function changedGenesis(
  dir: WorkDir,
  change: (genesis: Record<string, unknown>) => void,
): Promise<string> {
  const genesis = JSON.parse(await readFile(officialChain.genesis, 'utf8')) as Record<string, unknown>;
  change(genesis);
  const path = join(dir.path, 'genesis.json');
  await writeFile(path, JSON.stringify(genesis));
  return path;
}

describe('import', () => {
  it('executes all blocks and marks the last one safe and finalized', async () => {
    await using dir = await workDir();
    const progress: unknown[] = [];
    const modules = quietModules({ onProgress: (...seen) => progress.push(seen) });
    expect(await importChain(importOptions(dir), modules)).toEqual({ imported: 54, head: refOf(54) });
    const head = refOf(54);
    expect(await marksOf(dir)).toEqual({
      lowest: refOf(0),
      anchor: refOf(0),
      head,
      safe: head,
      finalized: head,
    });
    expect(progress).toEqual(Array.from({ length: 54 }, (_, index) => [index + 1, 54]));
  });

  it('goes on where a part of the file ended, also with another window and batch', async () => {
    await using dir = await workDir();
    for (const [count, window, batch] of [
      [1, 4, 1],
      [20, 4, 3],
      [20, 256, 64],
      [33, 1, 64],
      [47, 300, 7],
      [54, 16, 64],
    ] as const) {
      const file = await writeBlocks(dir, blocks.slice(0, count));
      const before = (await marksOf(dir).catch(() => undefined))?.head.number ?? 0;
      const limits = [
        '--undo-window',
        String(window),
        '--hot-window',
        String(window),
        '--import-batch',
        String(batch),
      ];
      const options = importOptions(dir, '--blocks', file, ...limits);
      expect(await importChain(options, quietModules())).toEqual({
        imported: count - before,
        head: refOf(count),
      });
    }
    expect(await verifyStore(verifyOptions(dir), quietModules())).toMatchObject({
      verified: 55,
      head: refOf(54),
    });
  });

  it('takes a file that begins with the genesis block, or in the middle of what is there', async () => {
    await using dir = await workDir();
    const genesis = outcomes[0]?.block ?? new Uint8Array();
    const whole = await writeBlocks(dir, [genesis, ...blocks.slice(0, 30)]);
    expect(await importChain(importOptions(dir, '--blocks', whole), quietModules())).toEqual({
      imported: 30,
      head: refOf(30),
    });
    const tail = await writeBlocks(dir, blocks.slice(20));
    expect(await importChain(importOptions(dir, '--blocks', tail), quietModules())).toEqual({
      imported: 24,
      head: refOf(54),
    });
  });

  it('takes a file that repeats blocks', async () => {
    await using dir = await workDir();
    const file = await writeBlocks(dir, [...blocks.slice(0, 10), ...blocks.slice(3, 20)]);
    expect(await importChain(importOptions(dir, '--blocks', file), quietModules())).toEqual({
      imported: 20,
      head: refOf(20),
    });
  });

  it('imports nothing from an empty file', async () => {
    await using dir = await workDir();
    const file = await writeBlocks(dir, []);
    expect(await importChain(importOptions(dir, '--blocks', file), quietModules())).toEqual({
      imported: 0,
      head: refOf(0),
    });
  });

  it('refuses a file with a gap', async () => {
    await using dir = await workDir();
    const file = await writeBlocks(dir, [...blocks.slice(0, 5), ...blocks.slice(6)]);
    await expect(importChain(importOptions(dir, '--blocks', file), quietModules())).rejects.toMatchObject({
      message: `block 7 ${outcomes[7]?.hash} is refused`,
      cause: { message: expect.stringContaining('does not follow block 5') },
    });
    expect((await marksOf(dir))?.head).toEqual(refOf(5));
  });
});

describe('import refuses', () => {
  it('another genesis for a store that holds a chain, and leaves it alone', async () => {
    await using dir = await workDir();
    await importChain(importOptions(dir), quietModules());
    const genesis = await changedGenesis(dir, (fields) => {
      fields['timestamp'] = '0x1';
    });
    await expect(importChain(importOptions(dir, '--genesis', genesis), quietModules())).rejects.toThrow(
      `the store holds another chain: it begins with ${outcomes[0]?.hash}`,
    );
    expect((await marksOf(dir))?.head).toEqual(refOf(54));
  });

  it.each([
    ['no JSON', '{"config": ', /is not JSON/],
    ['no config', '{"alloc": {}}', /no "config" object with a "chainId"/],
    ['null', 'null', /no "config" object/],
    ['no chain id', '{"config": {}, "alloc": {}}', /"chainId"/],
  ])('a genesis file with %s', async (_, text, message) => {
    await using dir = await workDir();
    const genesis = join(dir.path, 'genesis.json');
    await writeFile(genesis, text);
    await expect(importChain(importOptions(dir, '--genesis', genesis), quietModules())).rejects.toThrow(
      message,
    );
  });

  it('files that are not there, before it makes a store', async () => {
    await using dir = await workDir();
    for (const option of ['--genesis', '--blocks']) {
      const options = importOptions(dir, option, join(dir.path, 'nothing'));
      await expect(importChain(options, quietModules())).rejects.toThrow(/ENOENT/);
    }
    expect(existsSync(dir.data)).toBe(false);
  });

  it("another chain's blocks", async () => {
    await using dir = await workDir();
    const genesis = await changedGenesis(dir, (fields) => {
      fields['extraData'] = '0x01';
    });
    await expect(importChain(importOptions(dir, '--genesis', genesis), quietModules())).rejects.toMatchObject(
      {
        message: `block 1 ${outcomes[1]?.hash} is refused`,
        cause: { message: expect.stringContaining('does not follow block 0') },
      },
    );
    expect((await marksOf(dir))?.head.number).toBe(0);
  });

  it("another chain's block at a height that is there", async () => {
    await using dir = await workDir();
    await importChain(importOptions(dir), quietModules());
    const other = Buffer.from(blocks[9] ?? []);
    const at = other.indexOf(Buffer.from(readHeader(other).stateRoot.slice(2), 'hex'));
    other[at] = (other[at] ?? 0) ^ 1;
    const file = await writeBlocks(dir, [other]);
    await expect(importChain(importOptions(dir, '--blocks', file), quietModules())).rejects.toThrow(
      `the file is of another chain: its block 10 is ${readHeader(other).hash}, the store's is ${outcomes[10]?.hash}`,
    );
  });

  it.each([
    [
      'state root',
      (block: Buffer) => block.indexOf(Buffer.from(readHeader(block).stateRoot.slice(2), 'hex')),
    ],
    ['transactions root', (block: Buffer) => block.length - 2],
  ])('a block in the middle with another %s, and keeps the ones before', async (what, place) => {
    await using dir = await workDir();
    const bad = Buffer.from(blocks[29] ?? []);
    const at = place(bad);
    bad[at] = (bad[at] ?? 0) ^ 1;
    const file = await writeBlocks(dir, [...blocks.slice(0, 29), bad, ...blocks.slice(30)]);
    const options = importOptions(dir, '--blocks', file, '--import-batch', '8');
    await expect(importChain(options, quietModules())).rejects.toMatchObject({
      message: `block 30 ${readHeader(bad).hash} is refused`,
      cause: { message: expect.stringContaining(what) },
    });
    const head = refOf(29);
    expect(await marksOf(dir)).toMatchObject({ head, safe: head, finalized: head });
    expect((await verifyStore(verifyOptions(dir), quietModules())).verified).toBe(30);
    expect(await importChain(importOptions(dir), quietModules())).toEqual({ imported: 25, head: refOf(54) });
  });

  it('a list in the middle that is no block, and says which', async () => {
    await using dir = await workDir();
    const file = await writeBlocks(dir, [
      ...blocks.slice(0, 5),
      Buffer.from([0xc1, 0x01]),
      ...blocks.slice(5),
    ]);
    await expect(importChain(importOptions(dir, '--blocks', file), quietModules())).rejects.toThrow(
      'item 6 of the file is not a block',
    );
    expect((await marksOf(dir))?.head).toEqual(refOf(5));
  });
});

it('stops after the block being executed when it is told to, keeps what it has, and goes on later', async () => {
  await using dir = await workDir();
  const stop = new AbortController();
  const modules = quietModules({
    signal: stop.signal,
    onProgress: (done) => {
      if (done === 17) stop.abort();
    },
  });
  expect(await importChain(importOptions(dir), modules)).toEqual({ imported: 17, head: refOf(17) });
  expect((await marksOf(dir))?.head).toEqual(refOf(17));
  expect(await importChain(importOptions(dir), quietModules())).toEqual({ imported: 37, head: refOf(54) });
});
