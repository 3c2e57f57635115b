import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startListener } from '../../../test/support/serve/listener.ts';
import { createAdminServer } from '../admin/server.ts';
import { AccessPolicy, HostMemory } from './access.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

function policyOn(address: string, anyOrigin = false, allowedHosts: readonly string[] = []): AccessPolicy {
  const policy = new AccessPolicy({ host: 'bound.name', anyOrigin, allowedHosts });
  policy.boundTo(address);
  return policy;
}

describe('on loopback', () => {
  const policy = policyOn('127.0.0.1', true, ['rpc.example.org']);
  it.each([
    ...[
      'localhost',
      'localhost:8545',
      'LOCALHOST:1',
      'localhost.',
      '127.0.0.1',
      '127.0.0.1:8545',
      '127.9.9.9',
    ],
    ...[
      '[::1]',
      '[::1]:8545',
      '[::ffff:127.0.0.1]:1',
      'bound.name:1',
      'rpc.example.org',
      'RPC.example.org:443',
    ],
  ])('the host %s is allowed', (host) => {
    expect(policy.refusal({ host })).toBeUndefined();
  });

  it.each([
    ...[
      'evil.example',
      'evil.example:8545',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'localhost@evil',
    ],
    ...[
      '',
      ':8545',
      'localhost:8545:1',
      'localhost:x',
      '[::1',
      '::1',
      '10.0.0.1',
      '[::2]',
      '127.0.0.1, evil',
    ],
    ...[
      'rpc.example.org.evil',
      'xlocalhost',
      'localhost evil',
      '0.0.0.0',
      '127.1',
      '2130706433',
      'localhost..',
    ],
  ])('the host %j is refused', (host) => {
    expect(policy.refusal({ host })).toBe('host');
  });

  it('a request without one is of no browser', () => {
    expect(policy.refusal({})).toBeUndefined();
  });
});

it.each(['0.0.0.0', '::', '192.168.1.7'])('hosts are not looked at on %s', (address) => {
  expect(policyOn(address).refusal({ host: 'any.example' })).toBeUndefined();
});

describe('where not every origin may ask', () => {
  const host = 'localhost:8546';
  const policy = policyOn('127.0.0.1', false, ['app.example.org']);
  it.each([undefined, 'http://localhost:8546', 'https://app.example.org', 'https://app.example.org:444'])(
    'the origin %s is allowed',
    (origin) => {
      expect(policy.refusal({ host, ...(origin !== undefined && { origin }) })).toBeUndefined();
    },
  );

  it.each([
    ...[
      'null',
      '',
      'https://evil.example',
      'http://localhost',
      'http://localhost:3000',
      'http://127.0.0.1:8546',
    ],
    ...[
      'https://app.example.org.evil',
      'https://evil.example/app.example.org',
      'https://evil?app.example.org',
    ],
    ...['https://a@app.example.org', 'localhost:8546', 'chrome-extension://abc', 'http://localhost:8546, x'],
  ])('the origin %j is refused', (origin) => {
    expect(policy.refusal({ host, origin })).toBe('origin');
  });

  it('so it is wherever the listener is bound', () => {
    expect(policyOn('0.0.0.0').refusal({ host: 'node.example', origin: 'https://evil.example' })).toBe(
      'origin',
    );
    expect(
      policyOn('0.0.0.0').refusal({ host: 'node.example', origin: 'https://node.example' }),
    ).toBeUndefined();
  });
});

it('the host of the last request is remembered, and no other is taken for it', () => {
  const memory = new HostMemory(policyOn('127.0.0.1'));
  const allows = (text: string): boolean => {
    const bytes = Buffer.from(`<${text}>`);
    return memory.allows(bytes, 1, bytes.length - 1);
  };
  expect(
    ['localhost', 'localhost', 'evil', 'localhosx', 'localhos', 'localhost:1', '', 'localhost'].map(allows),
  ).toEqual([true, true, false, false, false, true, false, true]);
});

interface Given {
  readonly status: number;
  readonly text: string;
}

/** Sends headers that fetch would not. */
function ask(url: string, headers: Record<string, string>, method = 'POST'): Promise<Given> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject);
    sent.end(method === 'POST' ? body : undefined);
  });
}

function upgrade(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers });
    socket.on('open', () => {
      socket.terminate();
      resolve(101);
    });
    socket.on('unexpected-response', (sent, { statusCode }) => {
      sent.destroy();
      resolve(statusCode ?? 0);
    });
    socket.on('error', reject);
  });
}

const json = { 'content-type': 'application/json' };
const evil = { host: 'evil.example:8545' };
const page = { origin: 'https://dapp.example' };

describe.each(['hybrid', 'node'] as const)('a listener with the %s front', (front) => {
  it('refuses other hosts, over HTTP and WebSocket', async () => {
    await using listener = await startListener(undefined, { front });
    const http = listener.url.replace('ws', 'http');
    const refused = await ask(http, { ...json, ...evil });
    expect([refused.status, JSON.parse(refused.text)]).toEqual([
      403,
      {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32004, message: expect.stringContaining('--allowed-hosts') },
      },
    ]);
    expect((await ask(http, evil, 'OPTIONS')).status).toBe(403);
    expect(await upgrade(listener.url, evil)).toBe(403);
    expect((await ask(http, json)).status).toBe(200);
    expect(await upgrade(listener.url, {})).toBe(101);
  });

  it('takes every origin where browsers are welcome, and else none', async () => {
    await using open = await startListener(undefined, { front });
    expect((await ask(open.url.replace('ws', 'http'), { ...json, ...page })).status).toBe(200);
    expect(await upgrade(open.url, page)).toBe(101);
    await using closed = await startListener(undefined, { front, allowAnyOrigin: false });
    const http = closed.url.replace('ws', 'http');
    expect((await ask(http, { ...json, ...page })).status).toBe(403);
    expect(await upgrade(closed.url, page)).toBe(403);
    expect((await ask(http, { ...json, origin: http })).status).toBe(200);
    expect((await ask(http, json)).status).toBe(200);
    expect(await upgrade(closed.url, {})).toBe(101);
  });
});

it('the admin listener refuses other hosts and pages', async () => {
  const server = await createAdminServer(
    { host: '127.0.0.1', port: 0 },
    { metrics: async () => 'up 1\n', readiness: () => ({ reasons: [] }), allowedHosts: ['ops.example.org'] },
  );
  cleanups.push(() => server.close());
  const url = `http://127.0.0.1:${server.endpoint.port}/metrics`;
  expect((await ask(url, evil, 'GET')).status).toBe(403);
  expect((await ask(url, page, 'GET')).status).toBe(403);
  expect((await ask(url, { host: 'ops.example.org' }, 'GET')).status).toBe(200);
  expect((await ask(url, {}, 'GET')).text).toBe('up 1\n');
});
