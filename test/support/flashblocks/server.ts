import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { brotliCompressSync, constants } from 'node:zlib';
import type { FlashblockMessage } from './builder.ts';
import { type FaultScript, FaultyChannel } from './faults.ts';

/** How messages are put into frames: JSON text, JSON bytes as some proxies send them, or brotli. */
export type FlashblockEncoding = 'text' | 'bytes' | 'brotli';

export interface FlashblockServerOptions {
  readonly encoding?: FlashblockEncoding;
  readonly faults?: FaultScript;
}

/** One stream of flashblocks over WebSocket, as a builder or a proxy publishes them, with faults as told. */
export interface FlashblockServer extends AsyncDisposable {
  readonly url: string;
  /** Connections so far, and now. */
  readonly accepted: number;
  readonly connected: number;
  publish(message: FlashblockMessage): void;
  /** While stopped, connections are kept and nothing is sent. */
  stopped: boolean;
  /** Ends all connections without a word. */
  cut(): void;
}

const TEXT = 0x81;
const BINARY = 0x82;
const CLOSE = 0x88;

function frame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = opcode;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

function encode(text: string, encoding: FlashblockEncoding): Buffer {
  const bytes = Buffer.from(text);
  if (encoding !== 'brotli') return frame(encoding === 'text' ? TEXT : BINARY, bytes);
  // Builders are in a hurry too.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5 };
  return frame(BINARY, brotliCompressSync(bytes, { params }));
}

export async function startFlashblockServer(
  options: FlashblockServerOptions = {},
): Promise<FlashblockServer> {
  const { encoding = 'text' } = options;
  const channel = new FaultyChannel(options.faults);
  const sockets = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();
  let accepted = 0;
  let stopped = false;
  const server = createServer((_, response) => void response.writeHead(426).end());
  server.on('upgrade', (request, socket: Socket) => {
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    accepted += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    // A builder does not listen: it only hears that somebody goes.
    socket.on('data', (data: Buffer) => {
      if (data[0] === CLOSE) socket.end(frame(CLOSE, new Uint8Array(0)));
    });
  });
  const send = (text: string): void => {
    if (stopped) return;
    const bytes = encode(text, encoding);
    for (const socket of sockets) socket.write(bytes);
  };
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get accepted() {
      return accepted;
    },
    get connected() {
      return sockets.size;
    },
    get stopped() {
      return stopped;
    },
    set stopped(next) {
      stopped = next;
    },
    publish(message) {
      for (const { text, delayMs } of channel.push(message)) {
        if (delayMs === 0) {
          send(text);
          continue;
        }
        const timer = setTimeout(() => {
          timers.delete(timer);
          send(text);
        }, delayMs);
        timers.add(timer);
      }
    },
    cut,
    async [Symbol.asyncDispose]() {
      for (const timer of timers) clearTimeout(timer);
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
