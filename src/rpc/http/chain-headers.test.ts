import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { dispatcherOf, testMemory } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';
import type { CallResult, ForwardCall } from '../../executor/interface.ts';
import type { Head } from '../../head/head.ts';
import type { DispatcherOptions } from '../dispatch/dispatcher.ts';
import { createHttpServer, type HttpServer } from './server.ts';

const NUMBER = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}';
const CALL = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x${'00'.repeat(20)}"}]}`;

let server: HttpServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** What an answer says of itself, and its body. */
async function read(response: Response): Promise<readonly unknown[]> {
  const text = await response.text();
  const { headers, status } = response;
  return [
    status,
    headers.get('x-chain-head'),
    headers.get('x-chain-pending'),
    text === '' ? '' : JSON.parse(text),
  ];
}

describe.each(['hybrid', 'node'] as const)('over a socket, the %s front', (front) => {
  let chain: FakeChain;
  let head: Head;
  let url: string;

  async function start(
    options: Partial<DispatcherOptions> = {},
    call?: () => Promise<CallResult>,
    maxInFlight = 10,
    forward?: ForwardCall,
  ): Promise<void> {
    chain = new FakeChain().add(0).add(1);
    head = await chain.head(call);
    const forbidden = new Set(['eth_getBlockReceipts']);
    server = await createHttpServer(
      {
        front,
        host: '127.0.0.1',
        port: 0,
        reusePort: false,
        maxBodyBytes: 10_000,
        maxConnections: 100,
        maxInFlight,
        headersTimeoutMs: 5_000,
        requestTimeoutMs: 5_000,
        keepAliveTimeoutMs: 5_000,
        drainTimeoutMs: 5_000,
        allowAnyOrigin: true,
      },
      { memory: testMemory(), dispatcher: dispatcherOf(head, { forbidden, ...options }, { forward }) },
    );
    url = `http://127.0.0.1:${server.address.port}/`;
  }

  function post(body: string, atLeast?: string, signal: AbortSignal | null = null): Promise<Response> {
    const headers = { 'content-type': 'application/json', ...(atLeast && { 'x-chain-at-least': atLeast }) };
    return fetch(url, { method: 'POST', headers, body, signal });
  }

  const position = (number: number): string => `${number};${chain.canonicalHash(number)}`;

  it('names the snapshot of every answer, errors and no content included (B3, B6)', async () => {
    await start();
    const receipts = '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockReceipts","params":["latest"]}';
    const notification = '{"jsonrpc":"2.0","method":"eth_chainId"}';
    const bodies = [NUMBER, `[${NUMBER},${NUMBER}]`, receipts, notification, '{', '[]'];
    const expected = [200, 200, 403, 204, 200, 200];
    for (const [index, body] of bodies.entries()) {
      expect((await read(await post(body))).slice(0, 3)).toEqual([expected[index], position(1), 'none']);
    }
    chain.add(0);
    await head.refresh();
    expect(await read(await post(NUMBER))).toMatchObject([200, position(2), 'none', { result: '0x2' }]);
  });

  it('names an upstream that ran a call, or an entry of a batch, and only then (B17)', async () => {
    const native = { kind: 'native', address: `0x${'00'.repeat(20)}` } as const;
    await start(
      {},
      async () => native,
      10,
      async () => ({ kind: 'success', output: '0x07' }),
    );
    const sourceOf = async (body: string): Promise<readonly unknown[]> => {
      const { headers } = await post(body);
      return [headers.get('x-chain-source'), headers.get('x-chain-head')];
    };
    expect(await sourceOf(NUMBER)).toEqual([null, position(1)]);
    expect(await sourceOf(CALL)).toEqual(['upstream', position(1)]);
    expect(await sourceOf(`[${NUMBER},${CALL}]`)).toEqual(['upstream', position(1)]);
    expect(await sourceOf(`[${NUMBER},${NUMBER}]`)).toEqual([null, position(1)]);
    const { headers } = await post(CALL);
    expect(headers.get('access-control-expose-headers')).toContain('x-chain-source');
  });

  it('refuses a call that enters a native contract where no upstream runs it (B17)', async () => {
    const native = { kind: 'native', address: `0x${'00'.repeat(20)}` } as const;
    await start({}, async () => native);
    const [status, , , body] = await read(await post(CALL));
    const message = `resource unavailable: the call enters the native contract ${native.address}, which cannot be run here`;
    expect([status, body]).toMatchObject([200, { error: { code: -32002, message } }]);
  });

  it('names the snapshot that answered, not the newest (B3)', async () => {
    const started = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<CallResult>();
    await start({}, () => {
      started.resolve();
      return gate.promise;
    });
    const slow = post(CALL);
    await started.promise;
    chain.add(0);
    await head.refresh();
    expect((await read(await post(NUMBER)))[1]).toBe(position(2));
    gate.resolve({ kind: 'success', output: '0x' });
    expect((await read(await slow))[1]).toBe(position(1));
    expect((await read(await post(NUMBER)))[1]).toBe(position(2));
  });

  it('answers a request again when its chain is replaced, and names the new one (B1, B3)', async () => {
    let replaced = false;
    await start({}, async () => {
      if (!replaced) {
        chain.truncate(0).add(3, 1).add(3, 1);
        await head.refresh();
      }
      replaced = true;
      return { kind: 'success', output: '0x' };
    });
    const answer = await read(await post(`[${NUMBER},${CALL}]`));
    expect(answer).toMatchObject([200, position(2), 'none', [{ result: '0x2' }, { result: '0x' }]]);
  });

  it('lets browsers see these headers and send theirs (B3)', async () => {
    await start();
    expect((await post(NUMBER)).headers.get('access-control-expose-headers')).toBe(
      'x-chain-head, x-chain-pending, x-chain-source, x-request-id, retry-after',
    );
    const preflight = await fetch(url, { method: 'OPTIONS' });
    expect(preflight.headers.get('access-control-allow-headers')).toContain('x-chain-at-least');
  });

  it('says nothing of the chain when it was not asked', async () => {
    await start();
    expect((await read(await fetch(url))).slice(0, 3)).toEqual([405, null, null]);
  });

  it('waits for the block a client asks for at least (B3)', async () => {
    await start({ atLeastWaitMs: 60_000 });
    const reached = vi.spyOn(head, 'reached');
    expect(await read(await post(NUMBER, '1;4'))).toMatchObject([
      200,
      position(1),
      'none',
      { result: '0x1' },
    ]);
    expect(reached).not.toHaveBeenCalled();
    const waiting = post(NUMBER, '2');
    await vi.waitFor(() => expect(reached).toHaveBeenCalledOnce());
    chain.add(0);
    await head.refresh();
    expect(await read(await waiting)).toMatchObject([200, position(2), 'none', { result: '0x2' }]);
  });

  it('says -32001 when it does not come, and 400 when it is not understood (B3)', async () => {
    await start({ atLeastWaitMs: 1 });
    expect(await read(await post(NUMBER, '9'))).toMatchObject([
      200,
      position(1),
      'none',
      { id: 1, error: { code: -32001 } },
    ]);
    for (const bad of ['0x1', '1, 1', 'latest']) {
      expect(await read(await post(NUMBER, bad))).toMatchObject([
        400,
        position(1),
        'none',
        { id: null, error: { code: -32600 } },
      ]);
    }
  });

  it('counts who waits as under way, until the client leaves (B3)', async () => {
    await start({ atLeastWaitMs: 60_000 }, undefined, 1);
    const reached = vi.spyOn(head, 'reached');
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nx-chain-at-least: 5\r\n` +
        `Content-Length: ${NUMBER.length}\r\n\r\n${NUMBER}`,
    );
    await vi.waitFor(() => expect(reached).toHaveBeenCalledOnce());
    expect((await read(await post(NUMBER))).slice(0, 2)).toEqual([503, null]);
    socket.destroy();
    expect(await reached.mock.results[0]?.value).toBe(false);
    await vi.waitFor(async () => expect((await post(NUMBER)).status).toBe(200));
  });
});
