import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { JsonRpcProvider } from 'ethers';
import { createPublicClient, http } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type OurNode, startOurNode } from '../support/servers/node.ts';
import { call, curl, errorIn, type Shown } from './curl.ts';

/** Units a second, and as many seconds of them at once. */
const RATE = 20;
const BURST_SECONDS = 2;

describe('what one request may be (B4, B9, B10)', () => {
  let node: OurNode;
  beforeAll(async () => {
    node = await startOurNode(['--max-body-bytes', '64KiB', '--profile', 'public.rate=0']);
  });
  afterAll(() => node?.stop());

  it('413 for a body that is too large', async () => {
    const { status, body } = await curl(node.publicUrl, { body: ' '.repeat(65_537) });
    expect(status).toBe(413);
    expect(errorIn(body)).toMatchObject({ code: -32600 });
  });

  it('403 for what only the dedicated endpoint serves, and for that entry alone of a batch', async () => {
    for (const method of ['eth_getBlockReceipts', 'debug_traceTransaction']) {
      const { status, body } = await curl(node.publicUrl, { body: call(method, '0x1') });
      expect([status, errorIn(body)]).toMatchObject([403, { code: -32004 }]);
    }
    const batch = [call('eth_getBlockReceipts', '0x1'), call('eth_blockNumber')];
    const { status, body } = await curl(node.publicUrl, { body: batch });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject([{ error: { code: -32004 } }, { result: '0x36' }]);
  });

  it('a batch of 100 entries on the public endpoint, and 1,000 on the dedicated', async () => {
    const batchOf = (count: number) => Array.from({ length: count }, () => call('eth_chainId'));
    const sizes = [
      [node.publicUrl, 100],
      [node.dedicatedUrl, 1_000],
    ] as const;
    for (const [url, count] of sizes) {
      const most = JSON.parse((await curl(url, { body: batchOf(count) })).body) as readonly unknown[];
      expect(most).toHaveLength(count);
      const more = await curl(url, { body: batchOf(count + 1) });
      expect(errorIn(more.body)).toMatchObject({ code: -32600 });
    }
  });

  it('403 for a Host and for a page of elsewhere on loopback (DNS rebinding)', async () => {
    expect((await curl(node.publicUrl, { headers: ['host: evil.example'] })).status).toBe(403);
    expect((await curl(node.dedicatedUrl, { headers: ['origin: http://evil.example'] })).status).toBe(403);
  });
});

describe('what one client may use (B9)', () => {
  let node: OurNode;
  beforeAll(async () => {
    node = await startOurNode([
      ...[
        '--profile',
        `public.rate=${RATE}`,
        '--rate-burst',
        String(BURST_SECONDS),
        '--limit-loopback',
        'on',
      ],
      ...['--trusted-proxies', '127.0.0.1', '--threads', '2'],
    ]);
  });
  afterAll(() => node?.stop());

  /** Asks as a client behind a proxy that we trust. */
  const as = (address: string, body?: unknown) =>
    curl(node.publicUrl, { headers: [`x-forwarded-for: ${address}`], body });

  it('429 beyond its rate, whichever thread is asked, with when to come back and for nobody else', async () => {
    const answers: Shown[] = [];
    for (let left = 200; left > 0; left -= 1) {
      const answer = await as('192.0.2.1');
      answers.push(answer);
      if (answer.status !== 200) break;
    }
    const last = answers.at(-1);
    expect(last?.status).toBe(429);
    // What curl takes to start is time in which units come back.
    expect(answers.length).toBeGreaterThan(RATE * BURST_SECONDS);
    expect(errorIn(last?.body ?? '')).toMatchObject({
      code: 429,
      message: expect.stringContaining('too many requests, rate limit'),
    });
    expect((await as('192.0.2.2')).status).toBe(200);
    await pause(Number(last?.headers.get('retry-after')) * 1_000);
    expect((await as('192.0.2.1')).status).toBe(200);
  });

  it('by cost: logs of many blocks and batches are more than a nonce', async () => {
    const wide = call('eth_getLogs', { fromBlock: '0x0', toBlock: '0x36' });
    const statuses: number[] = [];
    for (let left = RATE * BURST_SECONDS; left > 0; left -= 1) {
      const { status } = await as('192.0.2.3', wide);
      statuses.push(status);
      if (status !== 200) break;
    }
    expect(statuses.at(-1)).toBe(429);
    const batch = Array.from({ length: 50 }, () => call('eth_chainId'));
    // More than can be saved up is served to who has saved all, and waited for afterwards.
    expect((await as('192.0.2.4', batch)).status).toBe(200);
    expect((await as('192.0.2.4')).status).toBe(429);
  });

  it('counts what somebody claims to come from only where a proxy is trusted', async () => {
    // Two hops: the last that is not trusted is who asks.
    const spoofed = (nth: number) => as(`198.51.100.${nth}, 192.0.2.5`);
    const statuses: number[] = [];
    for (let nth = 1; nth < 200; nth += 1) {
      const { status } = await spoofed(nth);
      statuses.push(status);
      if (status !== 200) break;
    }
    expect(statuses.at(-1)).toBe(429);
  });

  it('viem and ethers come through by themselves: they wait as they are told', {
    timeout: 60_000,
  }, async () => {
    const viem = createPublicClient({
      transport: http(node.publicUrl, { fetchOptions: { headers: { 'x-forwarded-for': '192.0.2.6' } } }),
    });
    const asked = RATE * BURST_SECONDS + 2 * RATE;
    const numbers: bigint[] = [];
    for (let left = asked; left > 0; left -= 1) numbers.push(await viem.getBlockNumber({ cacheTime: 0 }));
    expect(numbers).toHaveLength(asked);
    const ethers = new JsonRpcProvider(node.publicUrl, undefined, { staticNetwork: true, batchMaxCount: 1 });
    for (let left = asked; left > 0; left -= 1) expect(await ethers.getBlockNumber()).toBe(54);
    ethers.destroy();
  });

  it('the same over WebSocket, where the entry is refused and the connection stays', async () => {
    const socket = new WebSocket(node.publicUrl.replace('http', 'ws'), {
      headers: { 'x-forwarded-for': '192.0.2.7' },
    });
    await once(socket, 'open');
    const count = RATE * BURST_SECONDS + 40;
    const answers: string[] = [];
    const all = new Promise<void>((resolve) => {
      socket.on('message', (data: Buffer) => {
        answers.push(data.toString());
        if (answers.length === count) resolve();
      });
    });
    for (let left = count; left > 0; left -= 1) socket.send(JSON.stringify(call('eth_blockNumber')));
    await all;
    expect(answers.some((answer) => answer.includes('too many requests, rate limit'))).toBe(true);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.terminate();
  });
});

describe('overload (B10)', () => {
  let node: OurNode;
  beforeAll(async () => {
    node = await startOurNode([
      ...['--max-in-flight', '4', '--at-least-waiting', '2', '--threads', '1', '--profile', 'public.rate=0'],
    ]);
  });
  afterAll(() => node?.stop());

  it('503 beyond what is worked on at once, and all is well afterwards', async () => {
    const { hostname, port } = new URL(node.publicUrl);
    const body = JSON.stringify(call('eth_blockNumber'));
    // They wait for a block that is about to come, and never does.
    const request =
      `POST / HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\n` +
      `x-chain-at-least: 55\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const sockets = Array.from({ length: 8 }, () => connect({ host: hostname, port: Number(port) }));
    const first = await Promise.all(
      sockets.map(async (socket) => {
        socket.write(request);
        return String((await once(socket, 'data'))[0]).split('\r\n')[0] ?? '';
      }),
    );
    for (const socket of sockets) socket.destroy();
    const refused = first.filter((line) => line.includes('503'));
    expect(refused.length).toBeGreaterThanOrEqual(4);
    const { status } = await curl(node.publicUrl);
    expect(status).toBe(200);
  });
});
