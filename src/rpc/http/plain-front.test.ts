import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { closed } from '../../../test/support/closed.ts';
import { testMemory } from '../../../test/support/serve/dispatcher.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { RpcResponse } from '../dispatch/response.ts';
import type { Caller } from '../dispatch/task.ts';
import { PlainConnection } from './plain-connection.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from './server.ts';

const BASE: HttpServerOptions = {
  front: 'hybrid',
  host: '127.0.0.1',
  port: 0,
  reusePort: false,
  maxBodyBytes: 1_000_000,
  maxConnections: 10,
  maxInFlight: 10,
  headersTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 60_000,
  drainTimeoutMs: 5_000,
  allowAnyOrigin: false,
};

let server: HttpServer | undefined;
let client: Socket | undefined;

afterEach(async () => {
  client?.destroy();
  await server?.close();
  server = undefined;
});

type Handle = Dispatcher['handle'];
const answer = (text: string): RpcResponse => ({ status: 200, body: text, snapshot: undefined });
const echo: Handle = (body) => answer(body.toString());

async function open(handle: Handle, options: Partial<HttpServerOptions> = {}): Promise<Socket> {
  server = await createHttpServer({ ...BASE, ...options }, { memory: testMemory(), dispatcher: { handle } });
  client = connect(server.address.port, '127.0.0.1');
  client.on('error', () => undefined);
  await once(client, 'connect');
  return client;
}

function request(body: string, ...headers: readonly string[]): string {
  const all = [
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  return `POST / HTTP/1.1\r\n${all.map((header) => `${header}\r\n`).join('')}\r\n${body}`;
}

/** Everything received until it matches. */
async function receive(socket: Socket, pattern: RegExp): Promise<string> {
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (pattern.test(text)) return text;
  }
  return text;
}

/** Everything received until the server closes. */
async function receiveAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await closed(socket);
  return Buffer.concat(chunks).toString();
}

describe('requests', () => {
  it('on one connection are answered in order, however late', async () => {
    const gates = [Promise.withResolvers<RpcResponse>(), Promise.withResolvers<RpcResponse>()];
    let asked = 0;
    const socket = await open(() => gates[asked++]?.promise ?? answer('"third"'));
    socket.write(request('1') + request('2') + request('3'));
    gates[1]?.resolve(answer('"second"'));
    gates[0]?.resolve(answer('"first"'));
    const text = await receive(socket, /"third"/);
    expect(text.match(/"\w+"/g)).toEqual(['"first"', '"second"', '"third"']);
  });

  it('may be of many chunks', async () => {
    const socket = await open((body) => answer(String(body.length)));
    const text = request(`"${'x'.repeat(600_000)}"`);
    for (let at = 0; at < text.length; at += 50_000) {
      socket.write(text.slice(at, at + 50_000));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await receive(socket, /600002$/)).toContain('200 OK');
  });

  it('that are not plain go to node, and so does all that follows', async () => {
    const callers: Caller[] = [];
    const socket = await open((body, caller) => {
      callers.push(caller);
      return answer(body.toString());
    });
    socket.write(request('"a"') + request('"b"', 'X-Tab: \t') + request('"c"'));
    const text = await receive(socket, /"c"/);
    expect(text.match(/"\w+"/g)).toEqual(['"a"', '"b"', '"c"']);
    expect(callers.map((caller) => caller instanceof PlainConnection)).toEqual([true, false, false]);
  });

  it('say each for itself what they wait for (B3)', async () => {
    const asked: (string | undefined)[] = [];
    const socket = await open((body, caller) => {
      asked.push(caller.atLeast);
      return answer(body.toString());
    });
    const header = (number: number): string => `X-Chain-At-Least: ${number}`;
    const requests = [
      request('1', header(7)),
      request('2'),
      request('3', header(8)),
      request('4', header(9), 'X: \t'),
    ];
    socket.write([...requests, request('"end"')].join(''));
    await receive(socket, /"end"/);
    expect(asked).toEqual(['7', undefined, '8', '9', undefined]);
  });

  it('get the same head from node', async () => {
    const socket = await open(echo, { allowAnyOrigin: true });
    const masked = async (): Promise<string> => (await receive(socket, /"é"$/)).replace(/Date: .*/, 'Date');
    socket.write(request('"é"'));
    const plain = await masked();
    socket.write(request('"é"', 'X-Tab: \t'));
    expect(await masked()).toBe(plain);
    expect(plain).toContain('Keep-Alive: timeout=60\r\n');
  });
});

describe('a client', () => {
  it('that leaves aborts its call', async () => {
    const started = Promise.withResolvers<AbortSignal>();
    const socket = await open((_body, caller) => {
      started.resolve(caller.signal);
      return new Promise(() => undefined);
    });
    socket.write(request('1'));
    const signal = await started.promise;
    socket.destroy();
    await once(signal, 'abort');
  });

  it('that ends within a request is told', async () => {
    const socket = await open(echo);
    socket.end(request('123').slice(0, -1));
    expect(await receiveAll(socket)).toBe('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  });

  it('that does not read is not read from', async () => {
    let asked = 0;
    const large = Buffer.alloc(4 << 20, 32);
    const accepted = Promise.withResolvers<Socket>();
    const hear = (message: unknown): void => accepted.resolve((message as { socket: Socket }).socket);
    subscribe('net.server.socket', hear);
    const socket = await open(() => {
      asked++;
      return { status: 200, body: [large], snapshot: undefined };
    });
    const paused = once(await accepted.promise, 'pause');
    unsubscribe('net.server.socket', hear);
    socket.pause();
    socket.write(request('1').repeat(20_000));
    await paused;
    // As many as the kernel has room for.
    expect(asked).toBeLessThan(10);
  });
});

describe('time', () => {
  it('to send a request is limited, however steadily it drips', async () => {
    const socket = await open(echo, { headersTimeoutMs: 1_500 });
    socket.write('POST /');
    const drip = setInterval(() => socket.write(' '), 400);
    socket.once('close', () => clearInterval(drip));
    socket.write(' HTTP/1.1\r\nX: ');
    expect(await receiveAll(socket)).toBe('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n');
  });

  it('to send nothing at all is limited', async () => {
    const socket = await open(echo, { headersTimeoutMs: 500 });
    expect(await receiveAll(socket)).toContain('408');
  });

  it('to send a body is limited', async () => {
    const socket = await open(echo, { headersTimeoutMs: 500, requestTimeoutMs: 500 });
    socket.write(request('123').slice(0, -1));
    expect(await receiveAll(socket)).toContain('408');
  });

  it('between requests is limited', async () => {
    const socket = await open(echo, { keepAliveTimeoutMs: 500 });
    socket.write(request('"x"'));
    expect(await receiveAll(socket)).toMatch(/"x"$/);
  });
});

describe('closing', () => {
  it('closes what is idle at once', async () => {
    const socket = await open(echo, { drainTimeoutMs: 60_000 });
    socket.write(request('"x"'));
    await receive(socket, /"x"/);
    const ended = server?.close();
    server = undefined;
    await ended;
  });

  it('answers what is under way, says that it was the last, and drops the rest', async () => {
    const gate = Promise.withResolvers<RpcResponse>();
    const started = Promise.withResolvers<void>();
    const socket = await open(() => {
      started.resolve();
      return gate.promise;
    });
    socket.write(request('1') + request('2'));
    await started.promise;
    const ended = server?.close();
    server = undefined;
    gate.resolve(answer('"one"'));
    const text = await receiveAll(socket);
    expect(text.match(/"one"/g)).toHaveLength(1);
    expect(text).toContain('Connection: close\r\n\r\n"one"');
    await ended;
  });
});

it('connections past the limit are refused', async () => {
  await open(echo, { maxConnections: 1 });
  const second = connect(server?.address.port ?? 0, '127.0.0.1');
  second.on('error', () => undefined);
  expect(await receiveAll(second)).toBe('');
});
