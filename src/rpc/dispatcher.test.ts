import { describe, expect, it } from 'vitest';
import { FakeChain } from '../head/fixture.ts';
import { testSettings } from '../methods/fixture.ts';
import { createMethods } from '../methods/registry.ts';
import { Dispatcher } from './dispatcher.ts';
import { ask, testDispatcher } from './fixture.ts';

const call = (method: string, params: unknown = [], id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

const error = (code: number, message: string, id = 'null'): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}}}`;

describe('framing', () => {
  it('answers a request, with params left out, null or empty', async () => {
    const dispatcher = await testDispatcher();
    for (const params of ['', ',"params":null', ',"params":[]']) {
      const text = `{"jsonrpc":"2.0","id":1.0,"method":"eth_chainId"${params}}`;
      expect(await ask(dispatcher, text)).toEqual({
        status: 200,
        text: '{"jsonrpc":"2.0","id":1.0,"result":"0x1"}',
      });
    }
  });

  it.each([
    '',
    '{',
    '{"jsonrpc":"2.0","id":1,}',
    'nope',
    '\u{feff}{}',
    `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
    '['.repeat(1_000_000),
  ])('calls what is no JSON a parse error', async (text) => {
    const answer = await ask(await testDispatcher(), text);
    expect(JSON.parse(answer.text)).toMatchObject({ id: null, error: { code: -32700 } });
  });

  it('refuses bytes that are not UTF-8', async () => {
    const truncated = Buffer.from(call('eth_chainId', [], 'é')).subarray(0, -1);
    const broken = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","method":"eth_chainId","id":"'),
      Buffer.of(0xc3),
      Buffer.from('"}'),
    ]);
    for (const body of [truncated, broken]) {
      expect(JSON.parse((await ask(await testDispatcher(), body)).text)).toMatchObject({
        error: { code: -32700 },
      });
    }
  });

  it.each([
    '1',
    'null',
    '"x"',
    '{}',
    '{"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}',
    '{"id":1,"method":"eth_chainId"}',
    '{"jsonrpc":"2.0","id":1,"method":5}',
    '{"jsonrpc":"2.0","id":1,"method":""}',
    '{"jsonrpc":"2.0","id":true,"method":"eth_chainId"}',
    '{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}',
    '{"jsonrpc":"2.0","id":[1],"method":"eth_chainId"}',
  ])('calls %s an invalid request', async (text) => {
    expect((await ask(await testDispatcher(), text)).text).toBe(error(-32600, 'invalid request'));
  });

  it('answers nothing to a notification', async () => {
    const dispatcher = await testDispatcher();
    const notification = '{"jsonrpc":"2.0","method":"eth_chainId"}';
    expect(await ask(dispatcher, notification)).toEqual({ status: 204, text: '' });
    expect(await ask(dispatcher, `[${notification},${notification}]`)).toEqual({ status: 204, text: '' });
  });

  it('names an unknown method, and shortens a silly one', async () => {
    const dispatcher = await testDispatcher();
    expect((await ask(dispatcher, call('eth_nope'))).text).toBe(
      error(-32601, 'the method eth_nope does not exist/is not available', '1'),
    );
    expect((await ask(dispatcher, call('x'.repeat(100_000)))).text.length).toBeLessThan(400);
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect((await ask(dispatcher, call(name))).text).toContain('-32601');
    }
  });

  it('counts parameters as geth does', async () => {
    const dispatcher = await testDispatcher();
    expect((await ask(dispatcher, call('eth_getTransactionCount'))).text).toContain(
      'missing value for required argument 0',
    );
    expect((await ask(dispatcher, call('eth_chainId', [1]))).text).toContain(
      'too many arguments, want at most 0',
    );
    expect((await ask(dispatcher, call('eth_chainId', { a: 1 }))).text).toContain('non-array args');
  });
});

describe('batches', () => {
  it('answer each id in order, without notifications, and bad entries by themselves', async () => {
    const batch = `[${call('eth_blockNumber', [], 'a')},{"jsonrpc":"2.0","method":"eth_chainId"},7,${call('nope', [], 2)},{"jsonrpc":"2.0","id":1e0,"method":"eth_chainId"}]`;
    expect((await ask(await testDispatcher(), batch)).text).toBe(
      `[{"jsonrpc":"2.0","id":"a","result":"0x4"},${error(-32600, 'invalid request')},` +
        `${error(-32601, 'the method nope does not exist/is not available', '2')},{"jsonrpc":"2.0","id":1e0,"result":"0x1"}]`,
    );
  });

  it('are limited', async () => {
    const dispatcher = await testDispatcher({ maxBatch: 2 });
    const one = call('eth_chainId');
    expect(JSON.parse((await ask(dispatcher, `[${one},${one}]`)).text)).toHaveLength(2);
    expect((await ask(dispatcher, `[${one},${one},${one}]`)).text).toBe(
      error(-32600, 'batch too large: 3 entries, at most 2'),
    );
    expect((await ask(dispatcher, '[]')).text).toBe(error(-32600, 'empty batch'));
  });

  it('stay under the response limit, whole entries at a time', async () => {
    const dispatcher = await testDispatcher({ maxResponseBytes: 6_000 });
    const logs = (id: number) => call('eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x4' }], id);
    const { text } = await ask(dispatcher, `[${logs(1)},${logs(2)},${logs(3)}]`);
    expect(text.length).toBeLessThan(7_000);
    const entries = JSON.parse(text) as { id: number; error?: { code: number } }[];
    expect(entries.map((entry) => [entry.id, entry.error?.code])).toContainEqual([3, -32003]);
  });

  it('read one snapshot, and run again as a whole when the chain is reorganised', async () => {
    const chain = new FakeChain().add(0).add(1).add(2);
    const head = await chain.head(async () => {
      if (chain.blocks.length === 3) {
        chain.truncate(1).add(5, 1).add(6, 1);
        await head.refresh();
      }
      return { kind: 'success', output: '0x' };
    });
    const dispatcher = new Dispatcher(
      { settings: testSettings, maxBatch: 9, maxResponseBytes: 1e6, forbidden: new Set() },
      { head, methods: createMethods('0') },
    );
    const to = `0x${'00'.repeat(20)}`;
    const batch = `[${call('eth_blockNumber')},${call('eth_call', [{ to }, 'latest'])},${call('eth_getTransactionCount', [to])}]`;
    expect(
      (JSON.parse((await ask(dispatcher, batch)).text) as { result: string }[]).map((r) => r.result),
    ).toEqual(['0x3', '0x', '0x3']);
  });
});

describe('what a listener may not serve', () => {
  it('is HTTP 403 alone, and one entry in a batch', async () => {
    const dispatcher = await testDispatcher({ forbidden: new Set(['eth_getBlockReceipts']) });
    const refused = error(
      -32004,
      'the method eth_getBlockReceipts is not available on public endpoints',
      '1',
    );
    const receipts = call('eth_getBlockReceipts', ['latest']);
    expect(await ask(dispatcher, receipts)).toEqual({ status: 403, text: refused });
    expect(await ask(dispatcher, `[${receipts},${call('eth_chainId')}]`)).toEqual({
      status: 200,
      text: `[${refused},{"jsonrpc":"2.0","id":1,"result":"0x1"}]`,
    });
  });
});

describe('faults', () => {
  it('are told to the node, not to the client', async () => {
    const faults: unknown[] = [];
    const head = await new FakeChain()
      .add(0)
      .head(() => Promise.reject(new Error('disk on fire at /secret')));
    const dispatcher = new Dispatcher(
      { settings: testSettings, maxBatch: 9, maxResponseBytes: 1e6, forbidden: new Set() },
      { head, methods: createMethods('0'), onFault: (_method, fault) => faults.push(fault) },
    );
    const { text } = await ask(dispatcher, call('eth_call', [{ to: `0x${'00'.repeat(20)}` }]));
    expect(text).toBe(error(-32002, 'resource unavailable', '1'));
    expect(faults).toHaveLength(1);
  });
});
