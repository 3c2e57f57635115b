import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { officialBlocks } from '../../../test/support/serve/executor.ts';
import { officialChain } from '../../../test/support/servers/paths.ts';
import { itemLength, RlpFile } from './rlp-file.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'chain-query-rlp-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function fileOf(bytes: Uint8Array): Promise<string> {
  const path = join(dir, 'blocks.rlp');
  await writeFile(path, bytes);
  return path;
}

async function itemsOf(path: string): Promise<Buffer[]> {
  const file = await RlpFile.open(path);
  try {
    const items: Buffer[] = [];
    for await (const item of file.items()) items.push(item);
    expect(items).toHaveLength(file.length);
    return items;
  } finally {
    await file.close();
  }
}

describe(`a file of RLP lists (TEST_SEED=${seed})`, () => {
  it('gives each block of the official chain', async () => {
    const items = await itemsOf(officialChain.blocks);
    expect(items).toHaveLength(54);
    expect(Buffer.concat(items)).toEqual(await readFile(officialChain.blocks));
    expect(items).toEqual(officialBlocks());
  });

  it('may be empty, and may hold empty lists', async () => {
    expect(await itemsOf(await fileOf(Buffer.alloc(0)))).toEqual([]);
    expect(await itemsOf(await fileOf(Buffer.from([0xc0, 0xc0])))).toHaveLength(2);
  });

  it('is refused when it is cut off anywhere but between two blocks', async () => {
    const blocks = officialBlocks().slice(0, 3);
    const whole = Buffer.concat(blocks);
    const first = blocks[0]?.length ?? 0;
    for (const end of [1, 2, 3, first - 1, first + 1, first + 2, whole.length - 1]) {
      const start =
        end < first ? 0 : end < whole.length - 1 ? first : whole.length - (blocks[2]?.length ?? 0);
      await expect(itemsOf(await fileOf(whole.subarray(0, end)))).rejects.toThrow(
        `is not a file of RLP blocks: no whole list at byte ${start}`,
      );
    }
    expect(await itemsOf(await fileOf(whole.subarray(0, first)))).toHaveLength(1);
  });

  it('is refused when it is something else', async () => {
    for (const bytes of [Buffer.from('{"json": true}'), Buffer.from([0x80]), Buffer.from([0x00])]) {
      await expect(itemsOf(await fileOf(bytes))).rejects.toThrow('no whole list at byte 0');
    }
    await expect(RlpFile.open(join(dir, 'no-such-file'))).rejects.toThrow(/ENOENT/);
    await expect(RlpFile.open(dir)).rejects.toThrow(/EISDIR|no whole list/);
  });

  it('is refused for a length beyond all blocks, without allocating it', async () => {
    const before = process.memoryUsage().arrayBuffers;
    for (const lengthBytes of [4, 5, 7, 8]) {
      const header = Buffer.concat([Buffer.from([0xf7 + lengthBytes]), Buffer.alloc(lengthBytes, 0xff)]);
      await expect(itemsOf(await fileOf(Buffer.concat([header, Buffer.alloc(64)])))).rejects.toThrow(
        'no whole list at byte 0',
      );
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 24);
  });

  it('notices that it was cut while it was read', async () => {
    const path = await fileOf(Buffer.concat(officialBlocks().slice(0, 3)));
    const file = await RlpFile.open(path);
    try {
      const items = file.items();
      await items.next();
      await truncate(path, 10);
      await expect(items.next()).rejects.toThrow('became shorter');
    } finally {
      await file.close();
    }
  });

  it('gives lists or an error for any bytes, and never a list that is not there', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), async (bytes) => {
        const items = await itemsOf(await fileOf(bytes)).catch(() => undefined);
        if (items !== undefined) expect(Buffer.concat(items)).toEqual(Buffer.from(bytes));
      }),
      { seed, numRuns: 300 },
    );
  });
});

describe('itemLength', () => {
  it.each([
    [[], undefined],
    [[0x7f], undefined],
    [[0xbf], undefined],
    [[0xc0], 1],
    [[0xf7], 56],
    [[0xf8], undefined],
    [[0xf8, 56], 58],
    [[0xf9, 1, 0], 259],
    [[0xff, 0, 0, 0, 0, 0, 0, 1, 0], 265],
  ] as const)('%j', (bytes, length) => {
    expect(itemLength(Uint8Array.from(bytes))).toBe(length);
  });
});
