import { expect, it } from 'vitest';
import { BlockTime, blockTimeOf } from './block-time.ts';

/** A header whose timestamp is the only field of interest, in RLP. */
function headerOf(timestamp: number): Uint8Array {
  const hash = Buffer.concat([Buffer.of(0xa0), Buffer.alloc(32, 7)]);
  const address = Buffer.concat([Buffer.of(0x94), Buffer.alloc(20)]);
  const bloom = Buffer.concat([Buffer.of(0xb9, 1, 0), Buffer.alloc(256)]);
  const numbers = [Buffer.of(0x80), Buffer.of(0x05), Buffer.of(0x82, 1, 0), Buffer.of(0x80)];
  const time = Buffer.from(`85${timestamp.toString(16).padStart(10, '0')}`, 'hex');
  const fields = Buffer.concat([hash, hash, address, hash, hash, hash, bloom, ...numbers, time, hash]);
  const length = Buffer.of(fields.length >> 8, fields.length & 255);
  return Buffer.concat([Buffer.of(0xf9), length, fields]);
}

function measured(timeOf: (number: number) => number, head: number, lowest = 0) {
  let reads = 0;
  const time = new BlockTime({
    canonicalHash: () => '0x00',
    header: ({ number }) => {
      reads++;
      return headerOf(Math.floor(timeOf(number)));
    },
  });
  return {
    ms: () => time.ms(head, lowest),
    at: (number: number) => time.ms(number, lowest),
    reads: () => reads,
  };
}

it.each([200, 250, 1_000, 2_000, 12_000])('measures blocks of %s ms by whole seconds', async (ms) => {
  const start = 1_700_000_000;
  const found = await measured((number) => start + (number * ms) / 1_000, 10_000).ms();
  expect(Math.abs((found ?? 0) - ms) / ms).toBeLessThan(0.05);
});

it('does not count a halt of the chain, nor a genesis of long ago', async () => {
  const start = 1_700_000_000;
  const halted = measured((number) => start + number * 2 + (number > 9_900 ? 7_200 : 0), 10_000);
  expect(await halted.ms()).toBe(2_000);
  const young = measured((number) => (number === 0 ? 0 : start + number * 12), 40);
  expect(await young.ms()).toBe(12_000);
});

it('says nothing of a few blocks, or of a few seconds', async () => {
  expect(await measured((number) => 1_000 + number * 12, 7).ms()).toBeUndefined();
  expect(await measured((number) => 1_000 + number / 5, 30).ms()).toBeUndefined();
  expect(blockTimeOf([1, 1, 1, 1, 1, 1, 1, 1, 10_000], 1)).toBeUndefined();
});

it('measures again after some blocks, not for each', async () => {
  const { at, reads } = measured((number) => 1_000 + number * 2, 0);
  for (let number = 1_000; number < 1_064; number++) expect(await at(number)).toBe(2_000);
  expect(reads()).toBe(9);
  await at(1_064);
  expect(reads()).toBe(18);
});
