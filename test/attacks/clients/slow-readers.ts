import { ACTOR, hugeResult, hugeRevert } from '../evm.ts';
import { clientFrame, plainRequest, rpc, type Target } from '../target.ts';

const hugeCall = (code = hugeResult): string =>
  rpc('eth_call', [{ to: ACTOR }, 'latest', { [ACTOR]: { code } }]);

/** Asks over WebSocket for ten megabytes, hundreds of times, and never reads. */
export async function webSocketNeverReads(target: Target): Promise<void> {
  for (let connection = 0; connection < 3; connection++) {
    const socket = await target.webSocket();
    socket.pause();
    await target.write(socket, Buffer.concat(Array.from({ length: 300 }, () => clientFrame(hugeCall()))));
  }
  await target.end();
}

/** Pings without end, and never reads a pong. */
export async function pingsWithoutReading(target: Target): Promise<void> {
  const socket = await target.webSocket();
  socket.pause();
  const pings = Buffer.concat(Array.from({ length: 5_000 }, () => clientFrame('p'.repeat(125), 0x89)));
  while (!target.isOver && !socket.destroyed) await target.write(socket, pings);
}

/** Sends requests ahead over one connection of node:http, and never reads. */
export async function pipelinedNeverRead(target: Target): Promise<void> {
  for (let connection = 0; connection < 3; connection++) {
    const socket = await target.connectSilently();
    await target.write(socket, plainRequest(hugeCall(), true).repeat(100));
  }
  await target.end();
}

/** One request a connection, whose answer is never taken. */
export async function answersNeverTaken(target: Target): Promise<void> {
  for (let connection = 0; connection < 100 && !target.isOver; connection++) {
    await target.write(await target.connectSilently(), plainRequest(hugeCall()));
  }
  await target.end();
}

/** Bodies in chunks of one byte. */
export async function oneByteChunks(target: Target): Promise<void> {
  const chunks = Buffer.from('1\r\n \r\n'.repeat(2_000));
  await Promise.all(
    Array.from({ length: 5 }, async () => {
      while (!target.isOver) {
        const socket = await target.connect();
        socket.resume();
        await target.write(
          socket,
          'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
        );
        while (!target.isOver && !socket.destroyed) await target.write(socket, chunks);
      }
    }),
  );
}

/** WebSocket messages in fragments of one byte that never end. */
export async function oneByteFragments(target: Target): Promise<void> {
  const fragments = Buffer.concat(Array.from({ length: 2_000 }, () => clientFrame(' ', 0x00)));
  await Promise.all(
    Array.from({ length: 5 }, async () => {
      while (!target.isOver) {
        const socket = await target.webSocket();
        await target.write(socket, clientFrame('[', 0x01));
        while (!target.isOver && !socket.destroyed) await target.write(socket, fragments);
      }
    }),
  );
}

/** Ten connections with 64 subscriptions each that want all of history, and never read it. */
export async function resumesNeverRead(target: Target): Promise<void> {
  const subscribe = (): Buffer => clientFrame(rpc('eth_subscribe', ['logs', { fromBlock: 'earliest' }]));
  for (let connection = 0; connection < 10; connection++) {
    const socket = await target.webSocket();
    socket.pause();
    await target.write(socket, Buffer.concat(Array.from({ length: 64 }, subscribe)));
  }
  await target.end();
}

/** Batches of calls that revert with ten megabytes each. */
export async function revertingBatches(target: Target): Promise<void> {
  const batch = (): string => `[${Array.from({ length: 100 }, () => hugeCall(hugeRevert)).join(',')}]`;
  await target.repeat(2, batch);
}

/** Large messages that are never finished, on many connections. */
export async function unfinishedMessages(target: Target): Promise<void> {
  const almost = Buffer.alloc(4 << 20, 32);
  for (let connection = 0; connection < 150 && !target.isOver; connection++) {
    const isWebSocket = connection % 2 === 0;
    const socket = await (isWebSocket ? target.webSocket() : target.connect());
    if (isWebSocket) {
      await target.write(socket, clientFrame(Buffer.alloc(5 << 20), 0x81).subarray(0, 14));
    } else {
      await target.write(
        socket,
        'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n',
      );
    }
    await target.write(socket, almost);
  }
  await target.end();
}
