// Whatever is turned away is counted, once, by the listener that did it and why.
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { dispatcherOf, testMemory } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { REFUSALS, RefusalCounter } from '../../telemetry/refusal-counter.ts';
import { ConnectionBudget, newConnectionMemory } from '../limits/connection-budget.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from './server.ts';

const BASE: Omit<HttpServerOptions, 'front'> = {
  ...{ host: '127.0.0.1', port: 0, reusePort: false },
  ...{ maxBodyBytes: 1_000, maxConnections: 3, maxInFlight: 1 },
  ...{ headersTimeoutMs: 5_000, requestTimeoutMs: 5_000, keepAliveTimeoutMs: 5_000, drainTimeoutMs: 100 },
  allowAnyOrigin: false,
};

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

describe.each(['hybrid', 'node'] as const)('over the %s front', (front) => {
  const registry = { current: new Registry() };

  async function start(options: Partial<HttpServerOptions> = {}, connections = 10): Promise<string> {
    registry.current = new Registry();
    const onRefused = new RefusalCounter(registry.current).of('public');
    const never = new Promise<never>(() => undefined);
    const head = await new FakeChain().add(0).head(() => never);
    const dispatcher = dispatcherOf(
      head,
      { forbidden: new Set(['eth_getBlockReceipts']), atLeastWaitMs: 20, maxAtLeastWaiting: 1 },
      { onRefused },
    );
    const modules = {
      ...{ dispatcher, onRefused, memory: testMemory() },
      connections: new ConnectionBudget(newConnectionMemory(), connections),
    };
    server = await createHttpServer({ front, ...BASE, ...options }, modules);
    return `http://127.0.0.1:${server.address.port}/`;
  }

  async function counted(): Promise<Record<string, number>> {
    const text = await registry.current.metrics();
    const lines = [
      ...text.matchAll(/^chain_query_refused_total\{listener="public",reason="(\w+)"\} (\d+)$/gm),
    ];
    expect(lines.map(([, reason]) => reason)).toEqual([...REFUSALS]);
    return Object.fromEntries(
      lines.map(([, reason, count]) => [reason, Number(count)]).filter(([, count]) => count !== 0),
    );
  }

  function ask(url: string, headers: Record<string, string>, body = '{}', method = 'POST'): Promise<number> {
    const all = { 'content-type': 'application/json', connection: 'close', ...headers };
    return new Promise((resolve, reject) => {
      const sent = request(url, { method, headers: all }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      sent.on('error', reject);
      sent.end(method === 'GET' ? undefined : body);
    });
  }

  const call = (method: string, ...params: readonly unknown[]) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

  it('requests', async () => {
    const url = await start();
    expect(await ask(url, { host: 'evil.example' })).toBe(403);
    expect(await ask(url, { origin: 'https://evil.example' })).toBe(403);
    expect(await ask(url, {}, '', 'GET')).toBe(405);
    expect(await ask(url, { 'content-type': 'text/plain' })).toBe(415);
    expect(await ask(url, {}, ' '.repeat(2_000))).toBe(413);
    expect(await ask(url, {}, call('eth_getBlockReceipts', 'latest'))).toBe(403);
    expect(await ask(url, { 'x-chain-at-least': '99' }, call('eth_chainId'))).toBe(200);
    expect(await ask(url, {}, call('eth_chainId'))).toBe(200);
    expect(await counted()).toEqual({
      ...{ host: 1, origin: 1, method: 1, type: 1, body: 1, not_public: 1, not_reached: 1 },
    });
  });

  it('a request too many', async () => {
    const url = await start();
    const first = ask(url, {}, call('eth_call', { to: `0x${'00'.repeat(20)}` })).catch(() => 'cut');
    let status = 200;
    while (status === 200) status = await ask(url, {}, call('eth_call', { to: `0x${'00'.repeat(20)}` }));
    expect(status).toBe(503);
    expect(await counted()).toEqual({ in_flight: 1 });
    await server?.close();
    expect(await first).toBe('cut');
  });

  it.each([
    ['for its listener', {}, 10, 'connections'],
    ['for its process', { maxConnections: 100 }, 3, 'descriptors'],
  ])('a connection too many %s', async (_, options, connections, reason) => {
    const { port } = new URL(await start(options, connections));
    const open = Array.from({ length: 3 }, () => connect(Number(port), '127.0.0.1'));
    await Promise.all(open.map((socket) => once(socket, 'connect')));
    const refused = connect(Number(port), '127.0.0.1');
    refused.on('error', () => undefined);
    await once(refused, 'close');
    expect(await counted()).toEqual({ [reason]: 1 });
    for (const socket of open) socket.destroy();
  });
});
