import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { request, sendBatch } from '../servers/rpc-client.ts';
import type { Lie } from './lies.ts';
import { type LyingProxy, startLyingProxy } from './proxy.ts';

const log = { address: '0xaa', data: '0x1234', logIndex: '0x0' };
const receipts = [
  { cumulativeGasUsed: '0x5208', logs: [] },
  { cumulativeGasUsed: '0xa410', logs: [log, log] },
];
const truths: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
  eth_getBlockByNumber: ([number]) => ({
    number,
    stateRoot: '0x00ff',
    transactions: [{ value: '0x10' }, { value: '0x20' }],
  }),
  eth_getBlockReceipts: () => receipts,
  eth_getStorageAt: () => `0x${'00'.repeat(32)}`,
  eth_getCode: () => '0x6001',
  eth_getBalance: () => '0xde0b6b3a7640000',
  eth_getTransactionCount: () => '0x7',
  eth_getLogs: () => [log, log],
};

interface Asked {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

const server = createServer((message, response) => {
  const chunks: Buffer[] = [];
  message.on('data', (chunk: Buffer) => chunks.push(chunk));
  message.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Asked | readonly Asked[];
    const answer = ({ id, method, params }: Asked): object => ({ id, result: truths[method]?.(params) });
    const asked = body as readonly Asked[];
    response.end(JSON.stringify(Array.isArray(body) ? asked.map(answer) : answer(body as Asked)));
  });
});
let proxy: LyingProxy;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy = await startLyingProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  server.close();
});
beforeEach(() => {
  proxy.lie = undefined;
  proxy.reset();
});

const cases: readonly (readonly [lie: Lie, method: string, params: readonly unknown[], said: unknown])[] = [
  [
    { about: 'header' },
    'eth_getBlockByNumber',
    ['0x5', true],
    { number: '0x5', stateRoot: '0x00fe', transactions: [{ value: '0x10' }, { value: '0x20' }] },
  ],
  [
    { about: 'transaction' },
    'eth_getBlockByNumber',
    ['0x5', true],
    { number: '0x5', stateRoot: '0x00ff', transactions: [{ value: '0x11' }, { value: '0x20' }] },
  ],
  [
    { about: 'block order' },
    'eth_getBlockByNumber',
    ['0xf', true],
    expect.objectContaining({ number: '0x10' }),
  ],
  [
    { about: 'receipt' },
    'eth_getBlockReceipts',
    [],
    [{ ...receipts[0], cumulativeGasUsed: '0x5209' }, receipts[1]],
  ],
  [{ about: 'log count' }, 'eth_getBlockReceipts', [], [receipts[0], { ...receipts[1], logs: [log] }]],
  [
    { about: 'log' },
    'eth_getBlockReceipts',
    [],
    [receipts[0], { ...receipts[1], logs: [{ ...log, data: '0x1235' }, log] }],
  ],
  [{ about: 'log count' }, 'eth_getLogs', [{}], [log]],
  [{ about: 'storage' }, 'eth_getStorageAt', ['0xaa', '0x0', 'latest'], `0x${'00'.repeat(31)}01`],
  [{ about: 'code' }, 'eth_getCode', ['0xaa', 'latest'], '0x6000'],
  [{ about: 'balance' }, 'eth_getBalance', ['0xaa', 'latest'], '0xde0b6b3a7640001'],
  [{ about: 'nonce' }, 'eth_getTransactionCount', ['0xaa', 'latest'], '0x6'],
];

test.each(cases)('lies as told: %o about %s', async (lie, method, params, said) => {
  const truth = truths[method]?.(params);
  expect(await request(proxy.url, method, params)).toEqual(truth);
  expect(proxy.told).toBe(0);
  proxy.lie = lie;
  expect(await request(proxy.url, method, params)).toEqual(said);
  const batch = await sendBatch(proxy.url, [
    { method: 'eth_getCode', params: [] },
    { method, params },
  ]);
  expect(batch[1]).toEqual({ result: said });
  expect(proxy.forwarded.get(method)).toBe(method === 'eth_getCode' ? 4 : 3);
  expect(proxy.told).toBe(method === 'eth_getCode' ? 3 : 2);
});

test('goes down, and comes up at the same address', async () => {
  const { url } = proxy;
  await proxy.down();
  await expect(request(url, 'eth_getCode')).rejects.toThrow('did not answer');
  await proxy.up();
  expect(proxy.url).toBe(url);
  expect(await request(url, 'eth_getCode')).toBe('0x6001');
});

test('is slow when told so', async () => {
  proxy.delayMs = 80;
  const started = performance.now();
  await request(proxy.url, 'eth_getCode');
  expect(performance.now() - started).toBeGreaterThanOrEqual(75);
  proxy.delayMs = 0;
});
