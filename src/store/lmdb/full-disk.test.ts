import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeChain } from '../../../test/support/store/contract-chain.ts';
import { openLmdbStore } from './index.ts';
import { asStoreError } from './write/disk-trouble.ts';

let path: string;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'chain-query-disk-'));
});
afterEach(() => rm(path, { recursive: true }));

describe('a disk without room', () => {
  it.each([
    ['by the thread that asks', 'plain', []],
    ['by a thread of its own', 'written', [expect.stringContaining('cannot be written: '), 'none']],
  ])(
    'is said in words, keeps what is there, and is written to again later: %s',
    async (_, kind, troubles) => {
      const program = new URL('../../../test/support/store/lmdb-full-disk.ts', import.meta.url).pathname;
      const child = spawn('prlimit', ['--fsize=1500000:', process.execPath, program, path, kind], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [output, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      expect([code, signal]).toEqual([0, null]);
      const result = JSON.parse(output) as { readonly full: number };
      expect(result).toMatchObject({
        code: 'unwritable',
        message: expect.stringMatching(/^.* cannot be written: /),
        again: 'unwritable',
        last: 59,
        whole: true,
      });
      expect(result.full).toBeLessThan(59);
      expect(result).toHaveProperty('troubles', troubles);
    },
  );

  it('is full before it is: some room is kept free', async () => {
    const options = { path, mapSizeBytes: 2 ** 30 };
    const [first, second] = makeChain(undefined, [{}, {}]);
    if (first === undefined || second === undefined) throw new Error('two blocks');
    const store = await openLmdbStore(options);
    await store.append([first]);
    await store.close();
    const tight = await openLmdbStore({ ...options, diskReserveBytes: 2 ** 60 });
    await expect(tight.append([second])).rejects.toMatchObject({
      code: 'unwritable',
      message: expect.stringMatching(
        /the disk is full: \d+ MiB are free, and --disk-reserve is 1099511627776 MiB$/,
      ),
    });
    expect(tight.marks()?.head.number).toBe(0);
    await tight.close();
  });

  it('does not end the process by a page of the lock that has no room: all of it is on disk from the start', async () => {
    const store = await openLmdbStore({ path, mapSizeBytes: 2 ** 30 });
    const { size, blocks } = await stat(join(path, 'lock.mdb'));
    expect(blocks * 512).toBeGreaterThanOrEqual(size);
    // For 1,024 readers.
    expect(size).toBeGreaterThanOrEqual(65_600);
    expect((await readdir(path)).toSorted()).toEqual(['data.mdb', 'lock.mdb']);
    await store.close();
  });
});

it.each([
  [28, 'the disk is full'],
  [122, 'the disk is full'],
  [27, 'may not grow'],
  [30, 'it is read-only'],
  [13, 'it is read-only'],
  [5, 'the disk fails'],
])('puts error %i of LMDB in words', (code, words) => {
  const error = asStoreError(Object.assign(new Error('as LMDB says it'), { code }), path);
  expect(error).toMatchObject({ code: 'unwritable', message: expect.stringContaining(words) });
});

it('leaves other errors as they are', () => {
  const error = new Error('a bug');
  expect(asStoreError(error, path)).toBe(error);
});
