import { randomBytes } from 'node:crypto';
import { clientFrame, plainRequest, rpc, type Target } from '../target.ts';

const random = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`;
const many = (length: number, bytes: number): string[] => Array.from({ length }, () => random(bytes));

/** Waits for a block that is far away, on many connections. */
export async function waitsForFarBlocks(target: Target): Promise<void> {
  const body = rpc('eth_chainId', []);
  const request =
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nx-chain-at-least: 999999\r\n' +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
  for (let connection = 0; connection < 1_000 && !target.isOver; connection++) {
    const socket = await target.connect();
    socket.on('data', (data: Buffer) => {
      const isRefused = data.toString('latin1').startsWith('HTTP/1.1 503');
      if (!target.isOver) setTimeout(() => void target.write(socket, request), isRefused ? 500 : 0);
    });
    await target.write(socket, request);
  }
  await target.end();
}

/** As many and as large filters as a connection may have. */
export async function largestFilters(target: Target): Promise<void> {
  const filter = { address: many(1_000, 20), topics: [0, 1, 2, 3].map(() => many(1_000, 32)) };
  const subscribe = clientFrame(rpc('eth_subscribe', ['logs', filter]));
  for (let connection = 0; connection < 6 && !target.isOver; connection++) {
    const socket = await target.webSocket();
    socket.resume();
    for (let count = 0; count < 64 && !target.isOver; count++) await target.write(socket, subscribe);
  }
  await target.end();
}

/** Bursts of batches that subscribe, beyond what a connection may have. */
export async function subscriptionBursts(target: Target): Promise<void> {
  const batch = `[${Array.from({ length: 64 }, () => rpc('eth_subscribe', ['newHeads'])).join(',')}]`;
  while (!target.isOver) {
    const socket = await target.webSocket();
    socket.resume();
    await target.write(socket, Buffer.concat(Array.from({ length: 20 }, () => clientFrame(batch))));
    await new Promise((resolve) => setTimeout(resolve, 200));
    socket.destroy();
  }
}

/** Thousands of connections that have asked once. */
export async function manyConnections(target: Target): Promise<void> {
  const request = plainRequest(rpc('eth_chainId', []));
  for (let connection = 0; connection < 3_000 && !target.isOver; connection++) {
    const socket = await target.connect();
    socket.resume();
    await target.write(socket, request);
  }
  await target.end();
}

/** Requests that arrive a byte a second: heads, bodies, chunks. */
export async function slowLoris(target: Target): Promise<void> {
  const head = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
  const kinds: readonly (readonly [string, string])[] = [
    ['POST / HTTP/1.1\r\nHost: localhost\r\nX-A: ', 'a'],
    [`${head}Content-Length: 1000\r\n\r\n{`, ' '],
    [`${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`, '1\r\n \r\n'],
  ];
  const sockets = await Promise.all(
    Array.from({ length: 300 }, async (_, index) => {
      const [start, more] = kinds[index % kinds.length] ?? ['', ''];
      const socket = await target.connect();
      await target.write(socket, start);
      return { socket, more };
    }),
  );
  while (!target.isOver) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    for (const { socket, more } of sockets) await target.write(socket, more);
  }
}
