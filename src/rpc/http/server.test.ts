import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { testDispatcher, testMemory } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';
import type { CallResult } from '../../executor/interface.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from './server.ts';

const BASE: Omit<HttpServerOptions, 'front'> = {
  host: '127.0.0.1',
  port: 0,
  reusePort: false,
  maxBodyBytes: 10_000,
  maxConnections: 100,
  maxInFlight: 1,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 5_000,
  keepAliveTimeoutMs: 5_000,
  drainTimeoutMs: 5_000,
  allowAnyOrigin: true,
};

const CHAIN_ID = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const CALL = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x${'00'.repeat(20)}"}]}`;

let server: HttpServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

function post(url: string, body: string, type = 'application/json'): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'content-type': type }, body });
}

describe.each(['hybrid', 'node'] as const)('the %s front', (front) => {
  /** Calls wait until the test lets them go. */
  async function start(
    options: Partial<HttpServerOptions> = {},
    call?: () => Promise<CallResult>,
  ): Promise<string> {
    const forbidden = new Set(['eth_getBlockReceipts']);
    const dispatcher = await testDispatcher({ forbidden }, new FakeChain().add(0).add(1), call);
    server = await createHttpServer({ front, ...BASE, ...options }, { memory: testMemory(), dispatcher });
    return `http://127.0.0.1:${server.address.port}/`;
  }

  describe('requests', () => {
    it('are answered as JSON', async () => {
      const response = await post(await start(), CHAIN_ID);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(await response.text()).toBe('{"jsonrpc":"2.0","id":1,"result":"0x1"}');
    });

    it('may name a charset', async () => {
      expect((await post(await start(), CHAIN_ID, 'application/json; charset=utf-8')).status).toBe(200);
    });

    it('measure text in bytes', async () => {
      const response = await post(await start(), CHAIN_ID.replace('1,', '"é😀",'));
      expect(await response.text()).toBe('{"jsonrpc":"2.0","id":"é😀","result":"0x1"}');
    });

    it('that are notifications get no content', async () => {
      const response = await post(await start(), '{"jsonrpc":"2.0","method":"eth_chainId"}');
      expect([response.status, await response.text()]).toEqual([204, '']);
    });

    it('for what is not public get 403 with a JSON-RPC body', async () => {
      const body = '{"jsonrpc":"2.0","id":7,"method":"eth_getBlockReceipts","params":["latest"]}';
      const response = await post(await start(), body);
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({ id: 7, error: { code: -32004 } });
    });

    it('of another type get 415, of another method 405, larger ones 413', async () => {
      const url = await start();
      expect((await post(url, CHAIN_ID, 'text/plain')).status).toBe(415);
      expect((await fetch(url)).status).toBe(405);
      expect((await fetch(url, { method: 'PUT', body: 'x' })).status).toBe(405);
      const large = await post(url, `"${'x'.repeat(10_000)}"`);
      expect([large.status, await large.json()]).toMatchObject([413, { id: null, error: { code: -32600 } }]);
      expect((await post(url, CHAIN_ID)).status).toBe(200);
    });

    it('whose size is not declared are measured as they come', async () => {
      const url = await start();
      const stream = new ReadableStream({
        start(controller) {
          for (let i = 0; i < 11; i++) controller.enqueue(new Uint8Array(1_000).fill(32));
          controller.close();
        },
      });
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: stream,
        duplex: 'half',
      };
      expect((await fetch(url, init as RequestInit)).status).toBe(413);
    });

    it('of browsers are allowed beforehand', async () => {
      const response = await fetch(await start(), { method: 'OPTIONS' });
      expect(response.status).toBe(204);
      expect(response.headers.get('access-control-allow-methods')).toContain('POST');
      expect(response.headers.get('access-control-allow-headers')).toContain('content-type');
    });
  });

  describe('load', () => {
    it('past the limit is refused with 503, and only then', async () => {
      const gate = Promise.withResolvers<CallResult>();
      const started = Promise.withResolvers<void>();
      const url = await start({}, () => {
        started.resolve();
        return gate.promise;
      });
      const waiting = post(url, CALL);
      await started.promise;
      const refused = await post(url, CHAIN_ID);
      expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: -32005 } }]);
      expect(refused.headers.get('retry-after')).toBe('1');
      gate.resolve({ kind: 'success', output: '0x' });
      expect((await waiting).status).toBe(200);
      expect((await post(url, CHAIN_ID)).status).toBe(200);
    });

    it('of the executor is 503 too', async () => {
      const url = await start({}, () => Promise.resolve({ kind: 'overloaded' }));
      const response = await post(url, CALL);
      expect([response.status, await response.json()]).toMatchObject([
        503,
        { id: 1, error: { code: -32005 } },
      ]);
    });
  });

  describe('connections', () => {
    it('that close stop their call', async () => {
      const aborted = Promise.withResolvers<void>();
      const started = Promise.withResolvers<void>();
      const dispatcher = await testDispatcher({}, new FakeChain().add(0), (_request, context) => {
        started.resolve();
        return new Promise((resolve) => {
          context?.signal.addEventListener('abort', () => {
            aborted.resolve();
            resolve({ kind: 'cancelled' });
          });
        });
      });
      server = await createHttpServer({ front, ...BASE }, { memory: testMemory(), dispatcher });
      const controller = new AbortController();
      const request = fetch(`http://127.0.0.1:${server.address.port}/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: CALL,
        signal: controller.signal,
      });
      await started.promise;
      controller.abort();
      await expect(request).rejects.toThrow('aborted');
      await aborted.promise;
    });

    it('finish what they have begun when the server closes', async () => {
      const gate = Promise.withResolvers<CallResult>();
      const started = Promise.withResolvers<void>();
      const url = await start({}, () => {
        started.resolve();
        return gate.promise;
      });
      const waiting = post(url, CALL);
      await started.promise;
      const closed = server?.close();
      server = undefined;
      await expect(post(url, CHAIN_ID)).rejects.toThrow('fetch failed');
      gate.resolve({ kind: 'success', output: '0x12' });
      expect(await (await waiting).json()).toMatchObject({ result: '0x12' });
      await closed;
    });

    it('are cut when they do not finish in time', async () => {
      const url = await start({ drainTimeoutMs: 50 }, () => new Promise(() => undefined));
      const waiting = post(url, CALL).catch(() => 'cut');
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.on('error', () => undefined);
      await server?.close();
      server = undefined;
      expect(await waiting).toBe('cut');
      socket.destroy();
    });
  });
});
