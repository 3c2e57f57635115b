import { afterEach, describe, expect, it } from 'vitest';
import { dispatcherOf, testMemory } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { createHttpServer, type HttpServer } from './server.ts';

const CHAIN_ID = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const UNKNOWN = '{"jsonrpc":"2.0","id":1,"method":"eth_unknown"}';
const FAULTY = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x${'00'.repeat(20)}"}]}`;
const NOTIFICATION = '{"jsonrpc":"2.0","method":"eth_chainId"}';

let server: HttpServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

describe.each(['hybrid', 'node'] as const)('the name of a request, with the %s front', (front) => {
  /** The names that the log would have: of what was served, and of what failed. */
  async function start(): Promise<{ url: string; served: string[]; failed: string[] }> {
    const head = await new FakeChain().add(0).head(() => Promise.reject(new Error('broken')));
    const [served, failed]: [string[], string[]] = [[], []];
    const dispatcher = dispatcherOf(
      head,
      {},
      {
        onServed: (_method, _code, _seconds, { requestId }) => served.push(requestId),
        onFault: (_method, _error, { requestId }) => failed.push(requestId),
      },
    );
    server = await createHttpServer(
      {
        ...{ front, host: '127.0.0.1', port: 0, reusePort: false, allowAnyOrigin: true },
        ...{ maxBodyBytes: 10_000, maxConnections: 100, maxInFlight: 10 },
        ...{
          headersTimeoutMs: 5_000,
          requestTimeoutMs: 5_000,
          keepAliveTimeoutMs: 5_000,
          drainTimeoutMs: 5_000,
        },
      },
      { memory: testMemory(), dispatcher },
    );
    return { url: `http://127.0.0.1:${server.address.port}/`, served, failed };
  }

  async function ask(
    url: string,
    body: string,
    name?: string,
    type = 'application/json',
  ): Promise<string | null> {
    const headers = { 'content-type': type, ...(name !== undefined && { 'x-request-id': name }) };
    const response = await fetch(url, { method: 'POST', headers, body });
    await response.text();
    return response.headers.get('x-request-id');
  }

  it('is the one its client sent, and is sent back, whatever the answer', async () => {
    const { url, served, failed } = await start();
    expect(await ask(url, CHAIN_ID, 'first')).toBe('first');
    expect(await ask(url, UNKNOWN, 'second')).toBe('second');
    expect(await ask(url, FAULTY, 'third')).toBe('third');
    expect(await ask(url, NOTIFICATION, 'fourth')).toBe('fourth');
    expect(await ask(url, '{', 'fifth')).toBe('fifth');
    expect(await ask(url, '{', 'sixth', 'text/plain')).toBe('sixth');
    expect(served).toEqual(['first', 'second', 'third']);
    expect(failed).toEqual(['third']);
  });

  it('is made for the log where there is none, or what came is no name, and not sent', async () => {
    const { url, served, failed } = await start();
    for (const name of [undefined, 'a b', 'a"b', 'x'.repeat(65), '']) {
      expect(await ask(url, CHAIN_ID, name)).toBeNull();
    }
    expect(await ask(url, FAULTY)).toBeNull();
    expect(new Set(served).size).toBe(6);
    for (const name of served) expect(name).toMatch(/^[0-9a-f]{16}$/);
    // The lines of one request have one name.
    expect(failed).toEqual(served.slice(-1));
  });
});
