import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createPublicClient, http } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { importArguments, type OurNode, runCli, startOurNode } from '../support/servers/node.ts';
import { runToEnd, type TempDir, tempDir, until } from '../support/servers/process.ts';
import { runProgram, type Serving, startServing } from '../support/servers/serving.ts';
import { call, curl, errorIn } from './curl.ts';

const MANY_LOGS = call('eth_getLogs', { fromBlock: '0x3', toBlock: '0xc' });

let dir: TempDir;
beforeAll(async () => {
  dir = await tempDir('endpoints');
});
afterAll(() => dir?.[Symbol.asyncDispose]());

/** Makes a certificate for 127.0.0.1 and its key. */
async function makeCertificate(name: string): Promise<{ readonly cert: string; readonly key: string }> {
  const [cert, key] = [join(dir.path, `${name}.pem`), join(dir.path, `${name}.key`)];
  await runToEnd('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
  ]);
  return { cert, key };
}

describe('profiles (B9)', () => {
  let node: Serving;
  let configFile: string;
  let tls: { readonly cert: string; readonly key: string };

  async function configure(publicRate: number, more = ''): Promise<void> {
    const text = [
      'limitLoopback: on',
      'rateBurst: 1',
      ...['profile:', `  public: { rate: ${publicRate}, batchEntries: 3 }`],
      `  narrow: { listen: '127.0.0.1:0', auth: none, methods: [eth_blockNumber, eth_chainId], rate: 0 }`,
      `  secure: { listen: '127.0.0.1:0', auth: none, rate: 0, tlsCert: ${tls.cert}, tlsKey: ${tls.key} }`,
      more,
    ].join('\n');
    await writeFile(configFile, text);
  }

  beforeAll(async () => {
    configFile = join(dir.path, 'config.yaml');
    tls = await makeCertificate('first');
    await configure(0);
    const data = join(dir.path, 'data');
    await runCli(importArguments(data));
    // Without npm in between, which would not pass signals on.
    node = await startServing(data, { args: ['--config', configFile] });
  });
  afterAll(() => node?.[Symbol.asyncDispose]());

  const hangUp = async (words: string): Promise<void> => {
    const before = node.running.output().length;
    node.running.signal('SIGHUP');
    await until(words, () => node.running.output().slice(before).includes(words) || undefined);
  };

  it('serves a further endpoint, with its own methods', async () => {
    const url = `http://${node.addresses['narrow']}`;
    expect((await curl(url, { body: call('eth_blockNumber') })).body).toContain('"result":"0x36"');
    const { status, body } = await curl(url, {
      body: call('eth_getBalance', `0x${'0'.repeat(40)}`, 'latest'),
    });
    expect(status).toBe(403);
    expect(errorIn(body)).toMatchObject({
      code: -32004,
      message: 'the method eth_getBalance is not available on this endpoint',
    });
    const receipts = await curl(url, { body: call('eth_getBlockReceipts', '0x1') });
    expect(receipts.status).toBe(403);
  });

  it('speaks TLS where it has a certificate: curl, viem and WebSocket', async () => {
    const url = `https://${node.addresses['secure']}`;
    const shown = await curl(url, { body: call('eth_chainId'), flags: ['--cacert', tls.cert] });
    expect([shown.status, shown.headers.get('x-chain-head')]).toEqual([200, expect.stringMatching(/^54;0x/)]);
    // Without TLS there is no answer, and without trust no question.
    await expect(curl(url.replace('https', 'http'))).rejects.toThrow('ended with');
    await expect(curl(url)).rejects.toThrow('certificate');
    const socket = new WebSocket(url.replace('https', 'wss'), { ca: readFileSync(tls.cert) });
    await once(socket, 'open');
    socket.send(JSON.stringify(call('eth_blockNumber')));
    expect(String((await once(socket, 'message'))[0])).toContain('"result":"0x36"');
    socket.terminate();
  });

  it('takes a new certificate while it runs', async () => {
    const next = await makeCertificate('second');
    await writeFile(tls.cert, readFileSync(next.cert));
    await writeFile(tls.key, readFileSync(next.key));
    const url = `https://${node.addresses['secure']}`;
    await until('the new certificate', async () => {
      const { status } = await curl(url, { flags: ['--cacert', next.cert] });
      return status === 200 || undefined;
    });
  });

  it('reads limits again at SIGHUP, and says what needs a restart', async () => {
    const batch = Array.from({ length: 4 }, () => call('eth_chainId'));
    expect(errorIn((await curl(node.publicUrl, { body: batch })).body)).toMatchObject({ code: -32600 });
    await configure(2, 'threads: 1');
    await hangUp('changed options that need a restart');
    expect(node.running.output()).toContain('"changed":["profile"]');
    const statuses: number[] = [];
    for (let left = 10; left > 0; left -= 1) statuses.push((await curl(node.publicUrl)).status);
    expect(statuses).toContain(429);
    await configure(0);
    await hangUp('options were read again');
    expect((await curl(node.publicUrl)).status).toBe(200);
    await writeFile(configFile, 'profil: {}\n');
    await hangUp('options cannot be read again');
    expect((await curl(node.publicUrl)).status).toBe(200);
  });
});

it.each([
  ['partners.listen=0.0.0.0:0', 'serves without keys on loopback alone'],
  ['partners.listen=127.0.0.1:0,partners.origins=any', 'would let every page use it'],
  ['partners.rate=5', 'partners.listen is missing'],
  ['public.tlsCert=nowhere,public.tlsKey=nowhere', 'cannot be read'],
])('does not start with %s', async (profile, words) => {
  const { code, output } = await runProgram(['serve', '--data', dir.path, '--profile', profile]);
  expect([code, output]).toEqual([2, expect.stringContaining(words)]);
});

describe('compression', () => {
  let node: OurNode;
  beforeAll(async () => {
    node = await startOurNode(['--compress-above', '4KiB', '--profile', 'public.rate=0']);
  });
  afterAll(() => node?.stop());

  it.each(['gzip', 'br', 'zstd'])('%s for clients that ask for it, on both fronts', async (coding) => {
    for (const headers of [[], ['expect:', 'te: trailers', 'transfer-encoding: chunked']]) {
      const plain = await curl(node.publicUrl, { body: MANY_LOGS, headers });
      const flags = ['--output', '-', '-H', `accept-encoding: ${coding}`];
      const packed = await curl(node.publicUrl, { body: MANY_LOGS, flags, headers });
      expect(packed.headers.get('content-encoding')).toBe(coding);
      expect(packed.headers.get('vary')).toBe('accept-encoding');
      const length = Number(packed.headers.get('content-length'));
      expect(length).toBeLessThan(Number(plain.headers.get('content-length')) / 2);
    }
  });

  it('is unpacked by clients, and not done for what is small', async () => {
    const viem = createPublicClient({ transport: http(node.publicUrl) });
    const logs = await viem.getLogs({ fromBlock: 3n, toBlock: 12n });
    const plain = await curl(node.publicUrl, { body: MANY_LOGS });
    expect(logs).toHaveLength((JSON.parse(plain.body) as { result: unknown[] }).result.length);
    const unpacked = await curl(node.publicUrl, { body: MANY_LOGS, flags: ['--compressed'] });
    expect(unpacked.body).toBe(plain.body);
    const small = await curl(node.publicUrl, { flags: ['-H', 'accept-encoding: gzip'] });
    expect(small.headers.has('content-encoding')).toBe(false);
  });
});

describe('shares of one client', () => {
  let node: OurNode;
  beforeAll(async () => {
    node = await startOurNode([
      ...['--threads', '1', '--limit-loopback', 'on', '--profile', 'public.rate=0', '--max-in-flight', '8'],
      ...['--max-connections', '40', '--ws-total-subscriptions', '4', '--at-least-waiting', '6'],
    ]);
  });
  afterAll(() => node?.stop());

  const open = (localAddress: string): Socket => {
    const { hostname, port } = new URL(node.publicUrl);
    return connect({ host: hostname, port: Number(port), localAddress });
  };

  /** Posts a request over a connection of its own; the status line of the answer. */
  const post = async (socket: Socket, body: object, atLeast?: number): Promise<string> => {
    const text = JSON.stringify(body);
    const wait = atLeast === undefined ? '' : `x-chain-at-least: ${atLeast}\r\n`;
    socket.write(
      `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${wait}Content-Length: ${text.length}\r\n\r\n${text}`,
    );
    const answer = once(socket, 'data').then(([data]) => String(data).split('\r\n')[0] ?? '');
    return Promise.race([answer, once(socket, 'close').then(() => 'closed')]);
  };

  it('has half of the connections, and is told so', async () => {
    const own = Array.from({ length: 20 }, () => open('127.0.0.2'));
    await Promise.all(own.map((socket) => once(socket, 'connect')));
    const refused = open('127.0.0.2');
    expect(String((await once(refused, 'data'))[0])).toMatch(/^HTTP\/1.1 429 .*Retry-After: 1/s);
    await once(refused, 'close');
    const other = open('127.0.0.3');
    expect(await post(other, call('eth_chainId'))).toContain('200');
    for (const socket of [...own, other]) socket.destroy();
  });

  it('has half of the waits and of the work, and leaves the rest to others', async () => {
    // They wait for a block that is about to come, and never does.
    const waiting = Array.from({ length: 4 }, () => open('127.0.0.12'));
    const waits = waiting.map((socket) => post(socket, call('eth_chainId'), 55));
    expect(await Promise.race(waits)).toContain('503');
    const other = open('127.0.0.3');
    expect(await post(other, call('eth_chainId'))).toContain('200');
    const began = performance.now();
    await post(other, call('eth_chainId'), 55);
    expect(performance.now() - began).toBeGreaterThan(1_000);
    for (const socket of [...waiting, other]) socket.destroy();
    await Promise.allSettled(waits);
  });

  it('does not wait for a block that is far away', async () => {
    const socket = open('127.0.0.13');
    const began = performance.now();
    await post(socket, call('eth_chainId'), 1_000_000);
    expect(performance.now() - began).toBeLessThan(1_000);
    socket.destroy();
  });

  it('has what costs most refused first while much is under way (503), and a read of one value served', async () => {
    const waiting = ['127.0.0.14', '127.0.0.14', '127.0.0.15', '127.0.0.16'].map(open);
    const waits = waiting.map((socket) => post(socket, call('eth_chainId'), 55));
    await pause(200);
    const other = open('127.0.0.5');
    const batch = Array.from({ length: 90 }, () =>
      call('eth_getLogs', { fromBlock: '0x2', toBlock: 'latest', address: `0x${'0'.repeat(40)}` }),
    );
    expect(await post(other, batch)).toContain('503');
    expect(await post(other, call('eth_chainId'))).toContain('200');
    for (const socket of [...waiting, other]) socket.destroy();
    await Promise.allSettled(waits);
    expect((await curl(node.publicUrl, { body: batch })).status).toBe(200);
  });

  it('has half of the subscriptions, over all its connections', async () => {
    const subscribe = async (localAddress: string): Promise<string> => {
      const socket = new WebSocket(node.publicUrl.replace('http', 'ws'), { localAddress });
      sockets.push(socket);
      await once(socket, 'open');
      socket.send(JSON.stringify(call('eth_subscribe', 'newHeads')));
      return String((await once(socket, 'message'))[0]);
    };
    const sockets: WebSocket[] = [];
    expect(await subscribe('127.0.0.2')).toContain('result');
    expect(await subscribe('127.0.0.2')).toContain('result');
    expect(await subscribe('127.0.0.2')).toContain('-32005');
    expect(await subscribe('127.0.0.3')).toContain('result');
    for (const socket of sockets) socket.terminate();
  });
});
