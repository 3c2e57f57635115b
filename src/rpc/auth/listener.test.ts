import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { testDispatcher, testMemory } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { createHttpServer, type HttpServer } from '../http/server.ts';
import { formatApiKey } from './api-key.ts';
import { Gate } from './gate.ts';
import { addKey } from './key-file.ts';

const one = addKey('', { name: 'all', created: new Date(0) });
const two = addKey(one.text, { name: 'few', created: new Date(0), methods: 'eth_blockNumber' });
const [all, few] = [formatApiKey(one.key), formatApiKey(two.key)];
const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';

let server: HttpServer | undefined;
afterEach(() => server?.close());

describe.each(['hybrid', 'node'] as const)('a listener with keys and the %s front (B9)', (front) => {
  async function start() {
    const dispatcher = await testDispatcher({}, new FakeChain().add(0).add(1));
    const gate = await Gate.open({ keys: two.text });
    const timeouts = { headersTimeoutMs: 5_000, requestTimeoutMs: 5_000, keepAliveTimeoutMs: 5_000 };
    const limits = { maxBodyBytes: 10_000, maxConnections: 100, maxInFlight: 100, drainTimeoutMs: 5_000 };
    const place = { host: '127.0.0.1', port: 0, reusePort: false, allowAnyOrigin: false };
    server = await createHttpServer(
      { front, ...place, ...limits, ...timeouts },
      { memory: testMemory(), dispatcher, gate },
    );
    return { url: `http://127.0.0.1:${server.address.port}`, gate };
  }
  const ask = (url: string, headers: Record<string, string>) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });

  it('serves who shows one, in a header or in the path', async () => {
    const { url } = await start();
    for (const headers of [{ authorization: `Bearer ${all}` }, { 'x-api-key': all }]) {
      expect((await ask(url, headers)).status).toBe(200);
    }
    expect((await ask(`${url}/v1/${all}`, {})).status).toBe(200);
  });

  it('answers everybody else with 401, and goes on with the connection', async () => {
    const { url } = await start();
    const wrong = `${all.slice(0, -1)}${all.endsWith('A') ? 'B' : 'A'}`;
    for (const headers of [
      {},
      { authorization: `Bearer ${wrong}` },
      { 'x-api-key': 'x' },
      { authorization: 'Basic x' },
    ]) {
      const response = await ask(url, headers);
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect(await response.json()).toMatchObject({ id: null, error: { code: -32600 } });
      expect((await ask(url, { 'x-api-key': all })).status).toBe(200);
    }
  });

  it('takes spaces around a key, and no header twice', async () => {
    const { url } = await start();
    const { port } = new URL(url);
    const statusOf = async (...headers: readonly string[]) => {
      const socket = connect(Number(port), '127.0.0.1');
      const lines = ['host: localhost', 'content-type: application/json', `content-length: ${body.length}`];
      socket.write(`POST / HTTP/1.1\r\n${[...lines, ...headers].join('\r\n')}\r\n\r\n${body}`);
      const [answer] = await once(socket, 'data');
      socket.destroy();
      return String(answer).slice(9, 12);
    };
    expect(await statusOf(`authorization:  Bearer ${all} `)).toBe('200');
    expect(await statusOf(`x-api-key:  ${all} `)).toBe('200');
    expect(await statusOf(`authorization: Bearer ${all}`, `authorization: Bearer ${few}`)).toBe('401');
    expect(await statusOf(`authorization: Bearer ${all}`, 'authorization: Basic x')).toBe('401');
  });

  it('serves only what a key is for', async () => {
    const { url } = await start();
    const response = await ask(url, { 'x-api-key': few });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32004 } });
  });
});
