import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../../../src/source/clock.ts';
import { DEFAULT_SOURCE_OPTIONS } from '../../../src/source/pool/options.ts';
import { Upstream, type UpstreamModules, type UpstreamOptions } from '../../../src/source/pool/upstream.ts';
import { parseEndpoint } from '../../../src/source/transport/endpoint.ts';

/** What the scripted server does with a request: an answer, silence, or a cut connection. */
export type Reply =
  | {
      readonly status?: number;
      readonly headers?: Record<string, string>;
      readonly body: string | Uint8Array;
    }
  | 'hang'
  | 'cut';

export interface FakeSocket {
  send(text: string): void;
  sendBytes(bytes: Uint8Array): void;
  /** Until the client has let go of the connection, or it was cut. */
  readonly isOpen: boolean;
  cut(): void;
}

export interface FakeServer extends AsyncDisposable {
  readonly http: string;
  readonly ws: string;
  /** Bodies of HTTP requests and texts of WebSocket messages, in order of arrival. */
  readonly received: readonly string[];
  /** Resolves once `count` messages have arrived. */
  arrived(count: number): Promise<void>;
  /** WebSockets that were ever opened. */
  readonly sockets: readonly FakeSocket[];
  stop(): Promise<void>;
}

export interface FakeScript {
  http?(body: string, at: number, headers: IncomingHttpHeaders): Reply | Promise<Reply>;
  ws?(text: string, socket: FakeSocket): void;
}

/** A server for what real ones do not do on request: garbage, half answers, silence, refused batches, rate limits. */
export async function startFakeServer(script: FakeScript): Promise<FakeServer> {
  const received: string[] = [];
  const sockets: FakeSocket[] = [];
  const open = new Set<Socket>();
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const note = (text: string): void => {
    received.push(text);
    for (const { count, resolve } of waiting) if (received.length >= count) resolve();
  };
  const server = createServer((request, response) => void respond(request, response));
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await request.toArray()).toString('utf8');
    const replying = script.http?.(body, received.length, request.headers) ?? 'hang';
    note(body);
    const reply = await replying;
    if (reply === 'cut') request.socket.destroy();
    else if (reply !== 'hang') response.writeHead(reply.status ?? 200, reply.headers).end(reply.body);
  };
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
  });
  server.on('upgrade', (request, socket: Socket) => {
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    let isOpen = true;
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        isOpen = false;
      });
    }
    const fake: FakeSocket = {
      send: (text) => void socket.write(frame(0x81, Buffer.from(text))),
      sendBytes: (bytes) => void socket.write(frame(0x82, bytes)),
      get isOpen() {
        return isOpen;
      },
      cut: () => socket.destroy(),
    };
    sockets.push(fake);
    let rest: Uint8Array = new Uint8Array(0);
    socket.on('data', (chunk: Uint8Array) => {
      const read = readFrames(Buffer.concat([rest, chunk]));
      rest = read.rest;
      for (const text of read.texts) {
        note(text);
        script.ws?.(text, fake);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    for (const socket of open) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    http: `http://127.0.0.1:${port}`,
    ws: `ws://127.0.0.1:${port}`,
    received,
    sockets,
    arrived: (count) =>
      received.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => waiting.push({ count, resolve })),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function frame(kind: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = kind;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/** Whole text frames of a client, which are always masked; control frames are skipped. */
function readFrames(bytes: Buffer): { readonly texts: readonly string[]; readonly rest: Buffer } {
  const texts: string[] = [];
  let at = 0;
  while (bytes.length >= at + 2) {
    const short = (bytes[at + 1] ?? 0) & 0x7f;
    const start = at + (short < 126 ? 2 : short === 126 ? 4 : 10);
    if (bytes.length < start + 4) break;
    const length =
      short < 126
        ? short
        : short === 126
          ? bytes.readUInt16BE(at + 2)
          : Number(bytes.readBigUInt64BE(at + 2));
    if (bytes.length < start + 4 + length) break;
    const mask = bytes.subarray(start, start + 4);
    const payload = bytes
      .subarray(start + 4, start + 4 + length)
      .map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    if (((bytes[at] ?? 0) & 0x0f) === 1) texts.push(Buffer.from(payload).toString('utf8'));
    at = start + 4 + length;
  }
  return { texts, rest: bytes.subarray(at) };
}

export interface SeenCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The calls of one request text. */
export function callsOf(text: string): readonly SeenCall[] {
  const json = JSON.parse(text) as SeenCall | SeenCall[];
  return Array.isArray(json) ? json : [json];
}

/** An error that a scripted server answers with. */
export class RpcFault extends Error {
  readonly code: number;
  readonly data: string | undefined;

  constructor(code: number, message: string, data?: string) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** A correct answer to one request text; `handle` gives results, or throws `RpcFault`. */
export function answerTo(text: string, handle: (call: SeenCall) => unknown): string {
  const answers = callsOf(text).map((call) => {
    try {
      return { jsonrpc: '2.0', id: call.id, result: handle(call) };
    } catch (error) {
      const { code, message, data } = error as RpcFault;
      return { jsonrpc: '2.0', id: call.id, error: { code, message, data } };
    }
  });
  return JSON.stringify(text.startsWith('[') ? answers : answers[0]);
}

/** Time that passes only when told to. */
export class ManualClock implements Clock {
  #now = 0;
  #timers: { readonly at: number; readonly task: () => void }[] = [];
  #watchers: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, task: () => void): () => void {
    const timer = { at: this.#now + ms, task };
    this.#timers.push(timer);
    for (const wake of this.#watchers.splice(0)) wake();
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Resolves once a timer waits for exactly `ms` from now, or one that `matches`. */
  async armed(matches: (ms: number) => boolean): Promise<void> {
    while (!this.#timers.some(({ at }) => matches(at - this.#now))) {
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { task } of due) task();
  }
}

/** One upstream with the default limits, but for those given. */
export function makeUpstream(
  url: string,
  options: Partial<UpstreamOptions> = {},
  modules: UpstreamModules = {},
): Upstream {
  return new Upstream(parseEndpoint(url), { ...DEFAULT_SOURCE_OPTIONS.pool, ...options }, modules);
}

/** What a promise was rejected with. */
export async function rejection(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it was not rejected');
}
