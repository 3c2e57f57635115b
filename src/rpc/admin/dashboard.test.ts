import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccessPolicy } from '../limits/access.ts';
import { isWithinReach } from './pass-rpc.ts';
import { foreignPage } from './routes.ts';
import { type AdminServer, createAdminServer } from './server.ts';
import type { DashboardState } from './state.ts';

const state = { notes: [] } as unknown as DashboardState;
let folder: string;
let endpoint: Server;
let seen: { url: string | undefined; headers: Record<string, unknown> }[];
let admin: AdminServer;
let url: string;

beforeEach(async () => {
  seen = [];
  folder = await mkdtemp(join(tmpdir(), 'chain-query-web-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html>page');
  await writeFile(join(folder, 'index.html.gz'), 'squeezed');
  endpoint = createServer((asked, answer) => {
    seen.push({ url: asked.url, headers: asked.headers });
    asked
      .resume()
      .on('end', () => answer.writeHead(401, { 'x-chain-head': '1;0x', 'set-cookie': 'a=b' }).end('no'));
  }).listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  const { port } = endpoint.address() as AddressInfo;
  admin = await createAdminServer(
    { host: '127.0.0.1', port: 0 },
    {
      metrics: () => Promise.resolve('up 1\n'),
      readiness: () => ({ reasons: [] }),
      dashboard: {
        folder,
        state: () => state,
        watch: () => ({ [Symbol.dispose]: () => {} }),
        targets: () => ({ dedicated: { host: '127.0.0.1', port, tls: false } }),
      },
    },
  );
  url = `http://127.0.0.1:${admin.endpoint.port}`;
});
afterEach(async () => {
  await admin.close();
  endpoint.closeAllConnections();
  endpoint.close();
  await rm(folder, { recursive: true });
});

/** `fetch` does not let `Host` be chosen. */
function send(path: string, method: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url + path, { method, headers, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
    });
    asked.on('error', reject).end();
  });
}

describe('the page', () => {
  it('is served with headers that let nothing else run, compressed for who takes it', async () => {
    const page = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
    expect(await page.text()).toBe('<!doctype html>page');
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    expect(page.headers.get('content-security-policy')).not.toMatch(/unsafe/);
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const squeezed = await fetch(url, { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } });
    expect(squeezed.headers.get('content-encoding')).toBe('gzip');
    for (const path of ['/index.html.gz', '/..%2fpackage.json', '/assets/none.js'])
      expect(await send(path, 'GET', {})).toBe(404);
  });

  it('is told the state by JSON, and by events', async () => {
    expect(await (await fetch(`${url}/dashboard/state`)).json()).toEqual(state);
    const events = await fetch(`${url}/dashboard/events`);
    const { value } = (await events.body?.getReader().read()) ?? {};
    expect(new TextDecoder().decode(value)).toBe('event: state\ndata: {"notes":[]}\n\n');
  });
});

describe('a request that is passed on', () => {
  it('has the rights of its own credential, and says nothing else to the endpoint', async () => {
    const response = await fetch(`${url}/rpc/dedicated`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'k',
        'x-forwarded-for': '9.9.9.9',
        cookie: 'c=d',
      },
      body: '{}',
    });
    expect([response.status, await response.text()]).toEqual([401, 'no']);
    expect(response.headers.get('x-chain-head')).toBe('1;0x');
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(seen).toHaveLength(1);
    expect(seen[0]?.headers).toMatchObject({ 'content-type': 'application/json', 'x-api-key': 'k' });
    expect(seen[0]?.headers).not.toHaveProperty('x-forwarded-for');
    expect(seen[0]?.headers).not.toHaveProperty('cookie');
  });

  it('goes to endpoints of this node alone', async () => {
    for (const path of ['/rpc/public', '/rpc/__proto__', '/rpc/constructor', '/rpc/dedicated/a/b', '/rpc/'])
      expect(await send(path, 'POST', {}), path).toBe(404);
    expect(await send('/rpc/dedicated', 'GET', {})).toBe(404);
    expect(seen).toEqual([]);
  });
});

it('is passed on to an endpoint on loopback only for who is on this machine', () => {
  const at = (host: string) => ({ host, port: 8546 });
  for (const from of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    expect(isWithinReach(at('127.0.0.1'), from), from).toBe(true);
    expect(isWithinReach(at('0.0.0.0'), from), from).toBe(true);
  }
  for (const from of ['10.0.0.5', '172.17.0.1', 'fd00::5', '::ffff:10.0.0.5', undefined]) {
    for (const host of ['127.0.0.1', 'localhost', '::1'])
      expect(isWithinReach(at(host), from), `${from} to ${host}`).toBe(false);
    // It wants a key there, or is for everybody (B9).
    expect(isWithinReach(at('0.0.0.0'), from), from).toBe(true);
  }
});

describe('other pages', () => {
  it('are refused, by their origin and by the name they gave this machine', async () => {
    for (const path of ['/', '/dashboard/state', '/dashboard/events', '/metrics']) {
      expect(await send(path, 'GET', { host: 'evil.example' }), path).toBe(403);
      expect(await send(path, 'GET', { origin: 'https://evil.example' }), path).toBe(403);
    }
    for (const headers of [
      { host: 'evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ])
      expect(await send('/rpc/dedicated', 'POST', headers as Record<string, string>)).toBe(403);
    expect(seen).toEqual([]);
  });

  it('are told apart by name also where the listener is bound beyond loopback', () => {
    const access = new AccessPolicy({ host: '0.0.0.0', allowedHosts: ['node.example'], anyOrigin: false });
    access.boundTo('0.0.0.0');
    for (const host of ['10.0.0.5:8547', '[fd00::5]:8547', 'localhost:8547', 'node.example'])
      expect(foreignPage(access, { host }), host).toBeUndefined();
    for (const host of ['evil.example', 'evil.example:8547', '10.0.0.5.evil.example', ''])
      expect(foreignPage(access, { host }), host).toMatch(/host/);
    const link = { host: 'localhost', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    expect(foreignPage(access, link)).toBeUndefined();
    expect(foreignPage(access, { ...link, 'sec-fetch-mode': 'cors' })).toMatch(/other sites/);
  });
});
