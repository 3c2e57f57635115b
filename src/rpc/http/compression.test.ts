import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { Compressor } from './compression.ts';

const TEXT = JSON.stringify({ result: '0x'.padEnd(10_000, '0123456789abcdef') });
const answer = { status: 200, body: TEXT, snapshot: undefined };
const UNPACK = { br: brotliDecompressSync, gzip: gunzipSync, zstd: zstdDecompressSync };

it.each([
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['zstd', 'zstd'],
  ['gzip, deflate, br;q=0.1', 'gzip'],
  ['gzip;q=0.2, zstd', 'zstd'],
  ['GZIP', 'gzip'],
] as const)('packs for %s with %s', async (accepted, coding) => {
  const packed = await new Compressor({ aboveBytes: 1_000 }).pack(answer, accepted);
  expect(packed?.coding).toBe(coding);
  const bytes = Buffer.concat((packed?.body ?? []) as readonly Buffer[]);
  expect(bytes.length).toBeLessThan(TEXT.length / 2);
  expect(UNPACK[coding](bytes).toString()).toBe(TEXT);
});

it.each([
  undefined,
  '',
  'identity',
  'deflate',
  'gzip;q=0',
  'identity, gzip;q=0.5',
  'x'.repeat(1_000),
  '*;q=0',
])('leaves the answer as it is for %j', (accepted) => {
  expect(new Compressor({ aboveBytes: 1_000 }).pack(answer, accepted)).toBe(answer);
});

it('leaves small answers alone, and all where it is off', () => {
  expect(new Compressor({ aboveBytes: TEXT.length }).pack(answer, 'gzip')).toBe(answer);
  expect(new Compressor({ aboveBytes: 0 }).pack(answer, 'gzip')).toBe(answer);
});

it('packs only so many at the same time', async () => {
  const compressor = new Compressor({ aboveBytes: 1_000 });
  const all = await Promise.all(Array.from({ length: 10 }, async () => compressor.pack(answer, 'gzip')));
  expect(all.map((each) => each?.coding).filter((coding) => coding === 'gzip')).toHaveLength(4);
  expect((await compressor.pack(answer, 'gzip'))?.coding).toBe('gzip');
});
