import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it, vi } from 'vitest';
import { closed } from '../../../test/support/closed.ts';
import { testMemory } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { startListener, TestClient, type TestListener } from '../../../test/support/serve/listener.ts';
import { addressOf, flashblockEvent, makeBlock } from '../../../test/support/serve/subscriptions.ts';

// Megabytes go through sockets here, on however busy a machine.
vi.setConfig({ testTimeout: 30_000 });

const MIB = 2 ** 20;
const BIG = `0x${'ab'.repeat(MIB)}` as const;
/** What the kernel takes before a client reads: both socket buffers of a loopback connection. */
const KERNEL_BYTES = 8 * MIB;

const bigCall = (id: number): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_call', params: [{ to: addressOf(1) }, 'latest'] });

/** A connection that sends and does not read before it is told to. */
async function silentClient({ url }: TestListener): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.pause();
  return socket;
}

/** A masked text frame, or another kind of frame. */
function frame(text: string, opcode = 0x81): Buffer {
  const data = Buffer.from(text);
  const length = data.length < 126 ? [0x80 | data.length] : [0xfe, data.length >> 8, data.length & 255];
  return Buffer.concat([Buffer.of(opcode, ...length, 0, 0, 0, 0), data]);
}

async function silentWebSocket(listener: TestListener): Promise<Socket> {
  const socket = await silentClient(listener);
  socket.write(
    'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  while (socket.read() === null) await once(socket, 'readable');
  return socket;
}

function post(body: string, ...headers: readonly string[]): string {
  const lines = ['Host: localhost', 'Content-Type: application/json', ...headers];
  return `POST / HTTP/1.1\r\n${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** A listener whose calls give much, and how many of them were asked for. */
async function startGenerous() {
  let calls = 0;
  const memory = testMemory();
  const listener = await startListener(undefined, {
    memory,
    call: () => {
      calls++;
      return { kind: 'success', output: BIG };
    },
  });
  return { listener, memory, calls: () => calls };
}

/** Has a client read; how much it has. */
function take(socket: Socket): () => number {
  let bytes = 0;
  socket.on('data', (chunk) => {
    bytes += chunk.length;
  });
  socket.resume();
  return () => bytes;
}

/** Looks again after what is under way, until something is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

/** Bytes reach the listener: another connection's answer comes after them. */
async function settled(listener: TestListener): Promise<void> {
  using other = await TestClient.connect(listener.url);
  for (let turn = 0; turn < 20; turn++) await other.settle();
}

it('reads no more from a WebSocket client than it takes answers', async () => {
  const { listener, memory, calls } = await startGenerous();
  await using _ = listener;
  const socket = await silentWebSocket(listener);
  socket.write(Buffer.concat(Array.from({ length: 80 }, (__, id) => frame(bigCall(id)))));
  await until(() => calls() > 0);
  await settled(listener);
  expect(calls()).toBeLessThan(KERNEL_BYTES / MIB + 4);
  expect(memory.bytes).toBeLessThan(4 * MIB);
  // Each is answered in the end, when the client reads.
  const taken = take(socket);
  await until(() => calls() === 80 && taken() > 80 * 2 * MIB);
  socket.destroy();
  await until(() => memory.bytes === 0);
});

it('closes a WebSocket client that takes nothing for too long with 4008, and lets go of what it held', async () => {
  const memory = testMemory(2 ** 40, 1_000);
  await using listener = await startListener(undefined, {
    memory,
    call: () => ({ kind: 'success', output: `0x${'ab'.repeat(4.9 * MIB)}` }),
  });
  const socket = await silentWebSocket(listener);
  socket.write(frame(bigCall(1)));
  await until(() => memory.bytes > 4 * MIB);
  for (let second = 0; second < 3_600 && memory.cuts.slow === 0; second++) memory.tick(1_000);
  expect(memory.cuts).toEqual({ slow: 1, memory: 0 });
  let tail = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    tail = Buffer.concat([tail, chunk]).subarray(-256);
  });
  socket.resume();
  await closed(socket);
  expect(tail.includes('too slow')).toBe(true);
  expect(tail.readUInt16BE(tail.indexOf('too slow') - 2)).toBe(4008);
  expect(memory.bytes).toBe(0);
});

it('answers pings of a client only while it reads, and then the last one', async () => {
  const memory = testMemory();
  await using listener = await startListener(undefined, { memory });
  const socket = await silentWebSocket(listener);
  const pings = Buffer.concat(Array.from({ length: 200_000 }, () => frame('p'.repeat(120), 0x89)));
  socket.write(pings);
  await until(() => memory.bytes > 2 ** 18);
  await settled(listener);
  expect(memory.bytes).toBeLessThan(4 * MIB);
  // Most of it has not been read.
  expect(socket.writableLength).toBeGreaterThan(pings.length / 2);
  socket.write(frame('the last one', 0x89));
  let tail = '';
  socket.on('data', (chunk) => {
    tail = (tail + chunk.toString('latin1')).slice(-4_096);
  });
  socket.resume();
  await until(() => tail.includes('the last one'));
  socket.destroy();
});

it('goes on reading with a queue smaller than what a socket buffers', async () => {
  const chain = new FakeChain().add(0).add(40).add(40).add(40);
  await using listener = await startListener(chain, { websocket: { maxQueuedBytes: 4_096 } });
  using client = await TestClient.connect(listener.url);
  const history = await client.subscribe('logs', { fromBlock: '0x0' });
  await client.until(() => client.of(history).length === 120);
  for (let round = 0; round < 20; round++)
    await client.ask('eth_getLogs', { fromBlock: '0x1', toBlock: '0x3' });
  await client.settle();
  const tip = listener.head.snapshot().head;
  const live = await client.subscribe('pendingLogs');
  listener.streams.publish(flashblockEvent(makeBlock(tip, [1]), 0, 1, 'a'));
  await client.until(() => client.of(live).length === 1);
});

it.each(['plain', 'node:http'] as const)(
  'works on one answer at a time for a client that sends many requests ahead (%s)',
  async (path) => {
    const { listener, memory, calls } = await startGenerous();
    await using _ = listener;
    const socket = await silentClient(listener);
    const request = post(bigCall(1), ...(path === 'plain' ? [] : ['Accept-Charset: \xe9']));
    socket.write(request.repeat(100), 'latin1');
    await until(() => calls() > 0);
    await settled(listener);
    expect(calls()).toBeLessThan(KERNEL_BYTES / MIB + 4);
    expect(memory.bytes).toBeLessThan(4 * MIB);
    const taken = take(socket);
    await until(() => calls() === 100 && taken() > 100 * 2 * MIB);
    socket.destroy();
    await until(() => memory.bytes === 0);
  },
);

it.each(['plain', 'node:http'] as const)('cuts a client that never takes its answer (%s)', async (path) => {
  const memory = testMemory(2 ** 40, 1_000);
  await using listener = await startListener(undefined, {
    memory,
    call: () => ({ kind: 'success', output: `0x${'ab'.repeat(4.9 * MIB)}` }),
  });
  const socket = await silentClient(listener);
  socket.write(post(bigCall(1), ...(path === 'plain' ? [] : ['Accept-Charset: \xe9'])), 'latin1');
  await until(() => memory.bytes > 4 * MIB);
  const ended = closed(socket);
  for (let second = 0; second < 3_600 && memory.cuts.slow === 0; second++) memory.tick(1_000);
  expect(memory.cuts.slow).toBe(1);
  socket.resume();
  await ended;
  expect(memory.bytes).toBe(0);
});

it('refuses a body that comes in chunks of one byte, and takes one in small chunks', async () => {
  const memory = testMemory();
  await using listener = await startListener(undefined, { memory, maxBodyBytes: MIB });
  const send = async (size: number): Promise<string> => {
    const socket = await silentClient(listener);
    socket.write(
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = `${size.toString(16)}\r\n${' '.repeat(size)}\r\n`;
    socket.write(chunk.repeat(5_000));
    const text = bigCall(7);
    socket.write(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`);
    socket.resume();
    const [head] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return head.toString('latin1').slice(0, 12);
  };
  expect(await send(1)).toBe('HTTP/1.1 400');
  expect(await send(64)).toBe('HTTP/1.1 200');
});

it('counts filters and unfinished messages, and cuts whoever holds most of them', async () => {
  const memory = testMemory(8 * MIB);
  await using listener = await startListener(undefined, { memory, maxBodyBytes: 4 * MIB });
  using honest = await TestClient.connect(listener.url);
  const addresses = Array.from({ length: 900 }, (_, at) => `0x${at.toString(16).padStart(40, '0')}`);
  await honest.subscribe('logs', { address: addresses });
  expect(memory.bytes).toBeGreaterThan(900 * 100);
  const before = memory.bytes;
  const socket = await silentWebSocket(listener);
  // The head of a frame of 3 MiB, and most of it.
  const head = Buffer.alloc(14);
  head.set([0x81, 0xff]);
  head.writeBigUInt64BE(BigInt(3 * MIB), 2);
  socket.write(Buffer.concat([head, Buffer.alloc(2 * MIB, 32)]));
  await until(() => memory.bytes > before + 2 * MIB);
  socket.destroy();
  await until(() => memory.bytes === before);
});

it('opens no more subscriptions than a connection may have, however they are asked for', async () => {
  await using listener = await startListener(undefined, { streams: { maxPerConnection: 8 } });
  using client = await TestClient.connect(listener.url);
  const batch = JSON.stringify(
    Array.from({ length: 20 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_subscribe',
      params: ['logs'],
    })),
  );
  for (let sent = 0; sent < 20; sent++) client.socket.send(batch);
  await client.until(() => client.messages.length === 20);
  const opened = client.messages.flat().filter(({ result }) => result !== undefined);
  expect(opened).toHaveLength(8);
  expect(await listener.registry.metrics()).toContain('chain_query_subscriptions{kind="logs"} 8');
  for (const { result } of opened) expect((await client.ask('eth_unsubscribe', result)).result).toBe(true);
  await client.subscribe('logs');
});

it('holds a block of history for a few resuming subscriptions at a time, and none while their client does not read', async () => {
  const chain = new FakeChain().add(0);
  for (let block = 0; block < 6; block++) chain.add(100);
  let held = 0;
  let most = 0;
  const memory = testMemory();
  const head = await chain.head();
  await using listener = await startListener(chain, {
    memory,
    streams: { maxPerConnection: 64, resumeReaders: 3, resumeBlocks: 1_000 },
    websocket: { maxQueuedBytes: 64_000 },
    modules: {
      history: {
        async *logs(query, from, to) {
          for await (const found of head.snapshot().findLogs(query, from, to)) {
            most = Math.max(most, ++held);
            try {
              // A turn of the event loop, in which others could come to hold theirs.
              await new Promise(setImmediate);
              yield found;
            } finally {
              held--;
            }
          }
        },
        isCanonical: ({ number, hash }) => chain.canonicalHash(number) === hash,
      },
    },
  });
  const subscribe = (id: number): string =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: ['logs', { fromBlock: '0x0' }] });
  const socket = await silentWebSocket(listener);
  socket.write(Buffer.concat(Array.from({ length: 60 }, (_, id) => frame(subscribe(id)))));
  await until(() => most > 0);
  await settled(listener);
  await until(() => held === 0);
  expect([most, held]).toEqual([3, 0]);
  expect(memory.bytes).toBeLessThan(MIB);
  socket.destroy();

  using client = await TestClient.connect(listener.url);
  const ids = await Promise.all(
    Array.from({ length: 3 }, () => client.subscribe('logs', { fromBlock: '0x0' })),
  );
  await client.until(() => ids.every((id) => client.of(id).length === 600));
  for (const id of ids) {
    const places = client.of(id) as readonly { readonly blockNumber: string; readonly logIndex: string }[];
    expect(
      places.map(({ blockNumber, logIndex }) => (Number(blockNumber) - 1) * 100 + Number(logIndex)),
    ).toEqual(places.map((_, at) => at));
  }
  expect([most, held]).toEqual([3, 0]);
});
