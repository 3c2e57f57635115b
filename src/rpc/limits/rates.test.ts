import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { testDispatcher, testMemory } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { startListener, TestClient } from '../../../test/support/serve/listener.ts';
import { createHttpServer, type HttpServer } from '../http/server.ts';
import { ClientAddresses } from './client-address.ts';
import { newRateMemory, RateTable } from './rate-table.ts';
import { type RateOptions, Rates } from './rates.ts';

const OPTIONS: RateOptions = { perSecond: 2, burstSeconds: 10, limitLoopback: true };
const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const logs = '{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x0","toBlock":"0x1"}]}';

let server: HttpServer | undefined;
afterEach(() => server?.close());

function rates(options: Partial<RateOptions> = {}): Rates {
  return new Rates({ ...OPTIONS, ...options }, new RateTable(newRateMemory(), () => 5_000_000_000n));
}

describe.each(['hybrid', 'node'] as const)('a listener with rates and the %s front (B9)', (front) => {
  async function start(options: Partial<RateOptions> = {}, proxies: readonly string[] = []) {
    const dispatcher = await testDispatcher({}, new FakeChain().add(0).add(1));
    const timeouts = { headersTimeoutMs: 5_000, requestTimeoutMs: 5_000, keepAliveTimeoutMs: 5_000 };
    const limits = { maxBodyBytes: 100_000, maxConnections: 100, maxInFlight: 100, drainTimeoutMs: 5_000 };
    const place = { host: '127.0.0.1', port: 0, reusePort: false, allowAnyOrigin: true };
    server = await createHttpServer(
      { front, ...place, ...limits, ...timeouts },
      {
        ...{ memory: testMemory(), dispatcher, rates: rates(options) },
        addresses: new ClientAddresses(proxies),
      },
    );
    return `http://127.0.0.1:${server.address.port}`;
  }
  const ask = (url: string, text = body, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: text,
    });

  it('says 429, how long to wait, and why, with the id of the request', async () => {
    const url = await start();
    for (let count = 0; count < 20; count++) expect((await ask(url)).status).toBe(200);
    const response = await ask(url);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '1']);
    const { id, error } = (await response.json()) as { id: number; error: { code: number; message: string } };
    expect([id, error.code]).toEqual([1, 429]);
    expect(error.message).toContain('too many requests, rate limit');
  });

  it('counts by cost: logs are dearer, batches are their sum, and a large body is paid for', async () => {
    const url = await start();
    for (let count = 0; count < 3; count++) expect((await ask(url, logs)).status).toBe(200);
    expect((await ask(url, logs)).headers.get('retry-after')).toBe('2');
    expect((await ask(url, `[${Array(3).fill(body).join()}]`)).status).toBe(429);
    expect((await ask(url, body + ' '.repeat(40_000))).status).toBe(429);
    expect((await ask(url, `[${Array(2).fill(body).join()}]`)).status).toBe(200);
  });

  it('counts what cannot be parsed', async () => {
    const url = await start();
    for (let count = 0; count < 20; count++) expect((await ask(url, '{')).status).toBe(200);
    expect((await ask(url, '{')).status).toBe(429);
  });

  it('counts each client of a trusted proxy for itself, and believes no other', async () => {
    const url = await start({ perSecond: 1, burstSeconds: 1 }, ['127.0.0.0/8']);
    const from = (client: string): Record<string, string> => ({ 'x-forwarded-for': client });
    const statuses: number[] = [];
    for (const client of ['198.51.100.1', '198.51.100.1', '198.51.100.2', '9.9.9.9, 198.51.100.2'])
      statuses.push((await ask(url, body, from(client))).status);
    expect(statuses).toEqual([200, 429, 200, 429]);
  });

  it('spares clients on this machine unless it is asked not to', async () => {
    const url = await start({ limitLoopback: false });
    for (let count = 0; count < 30; count++) expect((await ask(url)).status).toBe(200);
  });
});

it('is the same over WebSocket, where the connection goes on', async () => {
  await using listener = await startListener(undefined, { rates: rates() });
  using client = await TestClient.connect(listener.url);
  // To connect was as much as ten of them.
  for (let count = 0; count < 10; count++) expect((await client.ask('eth_chainId')).result).toBe('0x1');
  for (let count = 0; count < 3; count++) {
    const { error } = await client.ask('eth_chainId');
    expect([error?.code, error?.message]).toEqual([429, expect.stringContaining('too many requests')]);
  }
});

it('refuses connections over WebSocket beyond it', async () => {
  await using listener = await startListener(undefined, { rates: rates() });
  const clients = [await TestClient.connect(listener.url), await TestClient.connect(listener.url)];
  await expect(TestClient.connect(listener.url)).rejects.toThrow('429');
  const socket = new WebSocket(listener.url.replace('http', 'ws'));
  // It is given up before it was open.
  socket.on('error', () => undefined);
  const [, { headers }] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
  socket.terminate();
  for (const client of clients) client[Symbol.dispose]();
});

describe('a key', () => {
  it('has a rate of its own, wherever it is used from, and else that of the listener', () => {
    const own = { id: 'key:a', grant: { rate: 1 } };
    const all = rates({ perSecond: 0 });
    expect(all.of('198.51.100.1', own)?.take(10)).toBe(0);
    expect(all.of('198.51.100.2', own)?.take(1)).toBeGreaterThan(0);
    expect(all.of('198.51.100.1', undefined)).toBeUndefined();
    expect(all.of('198.51.100.1', { id: 'key:b', grant: {} })).toBeUndefined();
    const some = rates();
    expect(some.of('198.51.100.1', { id: 'key:b', grant: {} })?.take(20)).toBe(0);
    expect(some.of('198.51.100.1', { id: 'key:b', grant: {} })?.take(1)).toBeGreaterThan(0);
  });
});
