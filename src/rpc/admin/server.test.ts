import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import {
  type AdminModules,
  type AdminServer,
  createAdminServer,
  type NotReady,
  type Readiness,
} from './server.ts';

let server: AdminServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const anyPort = { host: '127.0.0.1', port: 0 };

async function start(modules: Partial<AdminModules> = {}): Promise<string> {
  server = await createAdminServer(anyPort, {
    metrics: () => Promise.resolve('up 1\n'),
    readiness: () => ({ reasons: [] }),
    ...modules,
  });
  return `http://127.0.0.1:${server.endpoint.port}`;
}

async function ask(url: string, method = 'GET'): Promise<readonly [number, string]> {
  const response = await fetch(url, { method });
  return [response.status, await response.text()];
}

it('answers for health and metrics, and nothing else', async () => {
  const url = await start();
  expect(await ask(`${url}/livez`)).toEqual([200, 'ok\n']);
  expect(await ask(`${url}/readyz`)).toEqual([200, '{"ready":true}\n']);
  expect(await ask(`${url}/metrics?name[]=up`)).toEqual([200, 'up 1\n']);
  expect(await ask(`${url}/metrics`, 'HEAD')).toEqual([200, '']);
  for (const path of ['/', '/metrics/', '/livez/../metrics2', '//livez']) {
    expect((await ask(url + path))[0]).toBe(404);
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    expect((await ask(`${url}/metrics`, method))[0]).toBe(405);
  }
});

it('says every reason why it is not ready, and stays alive (B14)', async () => {
  const reasons: NotReady[] = [
    { reason: 'confirmed lag', detail: '40 blocks behind' },
    { reason: 'upstream', detail: 'none of 2 answers' },
  ];
  let readiness: Readiness = { reasons };
  const url = await start({ readiness: () => readiness });
  const [status, body] = await ask(`${url}/readyz`);
  expect([status, JSON.parse(body)]).toEqual([503, { ready: false, reasons }]);
  expect(await ask(`${url}/livez`)).toEqual([200, 'ok\n']);
  readiness = { reasons: [] };
  expect((await ask(`${url}/readyz`))[0]).toBe(200);
});

it('names its head and how far that is behind, ready or not (B14)', async () => {
  const head = { number: 54, hash: '0xab' } as const;
  const lag = { blocks: 1, seconds: 3 };
  let reasons: readonly NotReady[] = [];
  const url = await start({ readiness: () => Promise.resolve({ reasons, head, lag }) });
  const response = await fetch(`${url}/readyz`);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toEqual({ ready: true, head, lag });
  reasons = [{ reason: 'draining' }];
  expect(JSON.parse((await ask(`${url}/readyz`))[1])).toEqual({ ready: false, reasons, head, lag });
});

it('is not ready when it cannot tell, and keeps the cause to itself (B14)', async () => {
  const url = await start({ readiness: () => Promise.reject(new Error('secret')) });
  const [status, body] = await ask(`${url}/readyz`);
  expect([status, JSON.parse(body)]).toMatchObject([503, { ready: false, reasons: [{ reason: 'store' }] }]);
  expect(body).not.toContain('secret');
});

it('keeps the reason of failing metrics to itself', async () => {
  const url = await start({ metrics: () => Promise.reject(new Error('secret')) });
  expect(await ask(`${url}/metrics`)).toEqual([503, 'metrics are not available\n']);
});

it('does not start on a port that is taken', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as AddressInfo;
  const modules = { metrics: () => Promise.resolve(''), readiness: () => ({ reasons: [] }) };
  await expect(createAdminServer({ ...anyPort, port }, modules)).rejects.toThrow(/EADDRINUSE/);
  await new Promise((resolve) => other.close(resolve));
});

it('closes although a client keeps its connection', async () => {
  const never = new Promise<string>(() => {});
  const url = await start({ metrics: () => never });
  const hanging = fetch(`${url}/metrics`).catch(() => 'cut off');
  // A second answer on the same server shows that the first request has arrived.
  await ask(`${url}/livez`);
  await server?.close();
  server = undefined;
  expect(await hanging).toBe('cut off');
});
