import { brotliDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { until } from '../servers/process.ts';
import { cutIntoParts, type FlashblockMessage } from './builder.ts';
import { FaultyChannel, randomFaults } from './faults.ts';
import { startFlashblockServer } from './server.ts';

const message = (index: number, transactions: readonly `0x${string}`[] = []): FlashblockMessage => ({
  payload_id: '0x0102030405060708',
  index,
  diff: { block_hash: '0x', transactions },
  metadata: { block_number: 1 },
});
const indexes = (channel: FaultyChannel, count: number): (number | string)[] =>
  Array.from({ length: count }, (_, index) => channel.push(message(index)))
    .flat()
    .map(({ text, delayMs }) => {
      try {
        const { index } = JSON.parse(text) as FlashblockMessage;
        return delayMs === 0 ? index : `${index} after ${delayMs}`;
      } catch {
        return 'garbled';
      }
    });

test('a channel is wrong as told', () => {
  const faults = ['lose', 'duplicate', 'swap', undefined, 'garble', { delayMs: 7 }] as const;
  const channel = new FaultyChannel(({ index }) => faults[index]);
  expect(indexes(channel, 6)).toEqual([1, 1, 3, 2, 'garbled', '5 after 7']);
});

test('random faults are the same for the same seed', () => {
  const shares = { lose: 0.1, duplicate: 0.1, swap: 0.1, garble: 0.1, delay: 0.1 };
  const run = (seed: number, stream: number): (number | string)[] =>
    indexes(new FaultyChannel(randomFaults(seed, stream, shares)), 1_000);
  expect(run(1, 0)).toEqual(run(1, 0));
  expect(run(1, 0)).not.toEqual(run(1, 1));
  const garbled = run(1, 0).filter((index) => index === 'garbled').length;
  expect(garbled).toBeGreaterThan(50);
  expect(garbled).toBeLessThan(150);
});

test.each(['text', 'bytes', 'brotli'] as const)('a server sends %s, of any length', async (encoding) => {
  await using server = await startFlashblockServer({ encoding });
  const socket = new WebSocket(server.url);
  socket.binaryType = 'arraybuffer';
  const received: unknown[] = [];
  socket.addEventListener('message', ({ data }) => received.push(data));
  await until('a connection', () => (server.connected === 1 ? true : undefined));
  const sent = [message(0), message(1, ['0x01']), message(2, [`0x${'ab'.repeat(50_000)}`])];
  for (const each of sent) server.publish(each);
  await until('all messages', () => (received.length === sent.length ? true : undefined));
  const texts = received.map((data) => {
    if (typeof data === 'string') return data;
    const bytes = Buffer.from(data as ArrayBuffer);
    return (encoding === 'brotli' ? brotliDecompressSync(bytes) : bytes).toString('utf8');
  });
  expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual(sent);
  expect(received.every((data) => (typeof data === 'string') === (encoding === 'text'))).toBe(true);
  socket.close();
  await until('the end of the connection', () => (server.connected === 0 ? true : undefined));
});

test('parts are all transactions in order', () => {
  expect(cutIntoParts(['0x01', '0x02', '0x03'], 5).flat()).toEqual(['0x01', '0x02', '0x03']);
  expect(cutIntoParts(['0x01', '0x02', '0x03'], 2).map((part) => part.length)).toEqual([1, 2]);
});
