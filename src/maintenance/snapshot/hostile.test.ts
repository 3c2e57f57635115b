// Snapshots that are damaged, or that lie: refused in words, and never a store that looks whole.
import { cp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  importOptions,
  quietModules,
  type WorkDir,
  workDir,
} from '../../../test/support/follow/imported-chain.ts';
import { makePartialCopy } from '../../../test/support/follow/partial-copy.ts';
import { createRandom } from '../../../test/support/store/contract-chain.ts';
import { plain } from '../../../test/support/store/contract-observe.ts';
import { loadOptions } from '../../config/load.ts';
import { openLmdbStore } from '../../store/lmdb/index.ts';
import { importChain } from '../import/import.ts';
import { type Manifest, parseManifest, renderManifest, type SegmentRef, sha256Of } from './manifest.ts';
import { exportStore, restoreStore } from './snapshot.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const ROUNDS = 12;
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

type Random = (below: number) => number;

let sources: WorkDir;
beforeAll(async () => {
  sources = await workDir();
  await importChain(importOptions(sources), quietModules());
  await exportStore(optionsOf(sources.data, folderOf('complete')), quiet());
  const partial = join(sources.path, 'partial-copy');
  await makePartialCopy(partial, { lowest: 3, anchor: 30 });
  await exportStore(optionsOf(partial, folderOf('partial')), quiet());
});
afterAll(() => sources[Symbol.asyncDispose]());

const folderOf = (name: string): string => join(sources.path, name);
const quiet = () => ({ signal: new AbortController().signal, onBlocks: () => {}, onKeys: () => {} });
const optionsOf = (data: string, snapshot: string) =>
  loadOptions('snapshot', {
    args: ['--data', data, '--snapshot', snapshot, '--store-map-size', '1GiB', '--log-level', 'silent'],
    env: {},
  });

/** Restores a copy of a snapshot that something was done to; gives what was thrown, or what the blocks are. */
async function restoreChanged(name: string, change: (folder: string) => Promise<void>): Promise<unknown> {
  await using dir = await workDir();
  const folder = join(dir.path, 'snapshot');
  await cp(folderOf(name), folder, { recursive: true });
  await change(folder);
  try {
    await restoreStore(optionsOf(dir.data, folder), quiet());
  } catch (error) {
    expect((await readdir(dir.path)).toSorted()).toEqual(['snapshot']);
    return error;
  }
  return await blocksOf(dir.data);
}

async function blocksOf(path: string): Promise<unknown> {
  const store = await openLmdbStore({ path, mapSizeBytes: 2 ** 30, readOnly: true });
  try {
    const { lowest, head } = store.marks() ?? { lowest: { number: 1 }, head: { number: 0 } };
    return Array.from({ length: head.number - lowest.number + 1 }, (_, at) => {
      const number = lowest.number + at;
      const ref = { number, hash: store.canonicalHash(number) ?? '0x' };
      const { receipts, logs } = store.receipts(ref) ?? {};
      const found = [...Array(logs?.length ?? 0).keys()].map((index) => logs?.log(index));
      return plain([ref, store.header(ref), store.block(ref), receipts, found]);
    });
  } finally {
    await store.close();
  }
}

function expectRefused(result: unknown): void {
  expect(result).toBeInstanceOf(Error);
  expect((result as Error).name).toMatch(/^(SnapshotError|StoreError)$/);
}

async function someFile(folder: string, random: Random): Promise<string> {
  const names = (await readdir(join(folder, 'segments'))).toSorted();
  return join(folder, 'segments', names[random(names.length)] ?? '');
}

/** Rewrites a manifest as a liar would, who seals it again. */
async function lie(folder: string, change: (manifest: Manifest) => unknown): Promise<void> {
  const file = join(folder, 'manifest.json');
  const manifest = parseManifest(await readFile(file, 'utf8'));
  await writeFile(file, renderManifest(change(manifest) as Manifest));
}

/** A manifest with one of its segments changed. */
const withSegment = (manifest: Manifest, at: number, change: (segment: SegmentRef) => object) => ({
  ...manifest,
  segments: manifest.segments.map((segment, index) => (index === at ? change(segment) : segment)),
});

/** Rewrites the content of a segment, under its new hash. */
async function rewrite(folder: string, at: number, change: (raw: Buffer) => Buffer): Promise<void> {
  const manifest = parseManifest(await readFile(join(folder, 'manifest.json'), 'utf8'));
  const segment = manifest.segments[at] as SegmentRef;
  const raw = change(zstdDecompressSync(await readFile(join(folder, 'segments', `${segment.sha256}.zst`))));
  const file = zstdCompressSync(raw);
  const written = { sha256: sha256Of(file), bytes: file.length, rawBytes: raw.length };
  await writeFile(join(folder, 'segments', `${written.sha256}.zst`), file);
  await lie(folder, (each) => withSegment(each, at, (before) => ({ ...before, ...written })));
}

function flipped(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  const at = random(copy.length);
  copy[at] = (copy[at] ?? 0) ^ (1 << random(8));
  return copy;
}

describe.each(['complete', 'partial'])(`a hostile snapshot of a %s copy (seed ${seed})`, (name) => {
  it('is refused with any bit flipped, any file cut or missing', async () => {
    const random = createRandom(seed);
    for (let round = 0; round < ROUNDS; round++) {
      const result = await restoreChanged(name, async (folder) => {
        const file = random(4) === 0 ? join(folder, 'manifest.json') : await someFile(folder, random);
        const before = await readFile(file);
        const kind = random(3);
        if (kind === 0) await writeFile(file, flipped(before, random));
        else if (kind === 1) await truncate(file, random(before.length - 1));
        else await rm(file);
      });
      // White space and the names of fields that are not read may change.
      if (!(result instanceof Error)) expect(result).toEqual(await restoreChanged(name, async () => {}));
      else expectRefused(result);
    }
  });

  it('is refused when its content lies in any byte that a header commits to, however well it is sealed', async () => {
    const random = createRandom(seed);
    const sound = await restoreChanged(name, async () => {});
    for (let round = 0; round < ROUNDS; round++) {
      const result = await restoreChanged(name, async (folder) => {
        const { segments } = parseManifest(await readFile(join(folder, 'manifest.json'), 'utf8'));
        await rewrite(folder, random(segments.length), (raw) => flipped(raw, random));
      });
      // What only execution could show is taken; the blocks are those of the chain still.
      if (result instanceof Error) expect(result.name).toMatch(/Error$/);
      else expect(result).toEqual(sound);
    }
  });

  it('is refused when its manifest lies about its files, however well it is sealed', async () => {
    const random = createRandom(seed);
    const lies: readonly ((segment: SegmentRef) => object)[] = [
      (segment) => ({ ...segment, sha256: '../../../../etc/passwd' }),
      (segment) => ({ ...segment, sha256: 'f'.repeat(64) }),
      (segment) => ({ ...segment, bytes: segment.bytes + 1 }),
      (segment) => ({ ...segment, rawBytes: segment.rawBytes + 1 }),
      (segment) => ({ ...segment, rawBytes: segment.rawBytes - 1 }),
      (segment) => ({ ...segment, rawBytes: 2 ** 40 }),
      (segment) => ({ ...segment, rawBytes: -1 }),
      (segment) => ({ ...segment, kind: segment.kind === 'history' ? 'pins' : 'history' }),
      (segment) => ({ ...segment, kind: 'other' }),
      (segment) => ({ ...segment, first: { toString: () => 'x' } }),
    ];
    const { length } = parseManifest(await readFile(join(folderOf(name), 'manifest.json'), 'utf8')).segments;
    for (const change of lies) {
      const result = await restoreChanged(name, (folder) =>
        lie(folder, (manifest) => withSegment(manifest, random(length), change)),
      );
      expectRefused(result);
    }
    const counts = [0, 1, 2 ** 27, 2 ** 53];
    for (const count of counts) {
      const at = length - 1;
      expectRefused(
        await restoreChanged(name, (folder) =>
          lie(folder, (manifest) => withSegment(manifest, at, (segment) => ({ ...segment, count }))),
        ),
      );
    }
  });

  it('is refused when its marks are of other blocks, its blocks are not all there, or it is of another chain', async () => {
    const other = { number: 40, hash: `0x${'1'.repeat(64)}` };
    const changes: readonly ((manifest: Manifest) => object)[] = [
      (manifest) => ({ ...manifest, chainId: '5' }),
      (manifest) => ({ ...manifest, format: 2 }),
      (manifest) => ({ ...manifest, segments: manifest.segments.slice(0, -1) }),
      (manifest) => ({ ...manifest, segments: [...manifest.segments, ...manifest.segments] }),
      (manifest) => ({ ...manifest, segments: manifest.segments.filter(({ kind }) => kind !== 'texts') }),
      ...(['lowest', 'anchor', 'head', 'safe', 'finalized'] as const).map((mark) => (manifest: Manifest) => ({
        ...manifest,
        marks: { ...manifest.marks, [mark]: other },
      })),
    ];
    for (const change of changes) expectRefused(await restoreChanged(name, (folder) => lie(folder, change)));
  });

  it('is refused, with who wrote it, when it has another form', async () => {
    for (const [format, words] of [
      [2, 'a newer release wrote'],
      [0, 'no longer the older one'],
      [undefined, 'does not say its form'],
    ] as const) {
      const result = await restoreChanged(name, (folder) =>
        lie(folder, (manifest) => ({ ...manifest, format })),
      );
      expectRefused(result);
      expect(String(result)).toContain(words);
    }
  });

  it('is refused when a segment grows without end', async () => {
    const result = await restoreChanged(name, async (folder) => {
      const bomb = zstdCompressSync(Buffer.alloc(2 ** 28 + 1));
      const sha256 = sha256Of(bomb);
      await writeFile(join(folder, 'segments', `${sha256}.zst`), bomb);
      await lie(folder, (manifest) =>
        withSegment(manifest, manifest.segments.length - 1, (segment) => ({
          ...segment,
          sha256,
          bytes: bomb.length,
        })),
      );
    });
    expectRefused(result);
    expect(String(result)).toContain('cannot be decompressed');
  });
});
