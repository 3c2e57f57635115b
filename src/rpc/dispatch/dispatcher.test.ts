import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { ask, dispatcherOf, testDispatcher } from '../../../test/support/serve/dispatcher.ts';
import { type FakeCall, FakeChain } from '../../../test/support/serve/head.ts';
import { StateUnavailableError } from '../../primitives/errors.ts';
import type { Dispatcher } from './dispatcher.ts';

const call = (method: string, params: unknown = [], id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

const error = (code: number, message: string, id = 'null'): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}}}`;

describe('framing (A1, B4)', () => {
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

describe('batches (B4)', () => {
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
    const entries = JSON.parse(text) as { id: number; result?: unknown[]; error?: { code: number } }[];
    // They are answered at the same time: which of them find room is not given.
    expect(entries.map(({ id }) => id)).toEqual([1, 2, 3]);
    const refused = entries.filter(({ error: failure }) => failure?.code === -32003);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length + entries.filter(({ result }) => result?.length === 10).length).toBe(3);
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
    const dispatcher = dispatcherOf(head);
    const to = `0x${'00'.repeat(20)}`;
    const batch = `[${call('eth_blockNumber')},${call('eth_call', [{ to }, 'latest'])},${call('eth_getTransactionCount', [to])}]`;
    expect(
      (JSON.parse((await ask(dispatcher, batch)).text) as { result: string }[]).map((r) => r.result),
    ).toEqual(['0x3', '0x', '0x3']);
  });
});

describe('every answer (B1, B3)', () => {
  const TO = `0x${'00'.repeat(20)}`;
  const signal = new AbortController().signal;

  it('names the snapshot it was read from, not the one that came meanwhile', async () => {
    const chain = new FakeChain().add(0).add(1);
    const head = await chain.head(async () => {
      chain.add(2);
      await head.refresh();
      return { kind: 'success', output: '0x' };
    });
    const before = head.snapshot();
    const response = await dispatcherOf(head).handle(Buffer.from(call('eth_call', [{ to: TO }])), {
      signal,
      client: 'test',
    });
    expect(response.snapshot).toBe(before);
    expect(head.snapshot().head.number).toBe(2);
  });

  it.each([
    ['an error', call('eth_nope')],
    ['what is no JSON', '{'],
    ['an empty batch', '[]'],
    ['a notification', '{"jsonrpc":"2.0","method":"eth_chainId"}'],
  ])('has one, also %s', async (_, text) => {
    const head = await new FakeChain().add(0).head();
    const response = await dispatcherOf(head).handle(Buffer.from(text), { signal, client: 'test' });
    expect(response.snapshot).toBe(head.snapshot());
  });
});

describe('a reorg under a request (B1, B2)', () => {
  const TO = `0x${'00'.repeat(20)}`;
  const CALL = call('eth_call', [{ to: TO }]);

  it('is found out before anybody tells', async () => {
    const chain = new FakeChain().add(0).add(1).add(2);
    const dispatcher = dispatcherOf(await chain.head());
    chain.truncate(1).add(5, 1).add(6, 1);
    const batch = `[${call('eth_blockNumber')},${call('eth_getTransactionCount', [TO])},${call('eth_getLogs', [{ fromBlock: '0x2', toBlock: '0x3' }])}]`;
    const [number, nonce, logs] = JSON.parse((await ask(dispatcher, batch)).text) as { result: unknown }[];
    expect([number?.result, nonce?.result]).toEqual(['0x3', '0x3']);
    expect(logs?.result).toHaveLength(11);
  });

  it('shows as state that cannot be had, and is told apart from state that is missing', async () => {
    const chain = new FakeChain().add(0).add(1).add(2);
    const faults: unknown[] = [];
    const run = async (first: Error, change: () => void): Promise<string> => {
      let calls = 0;
      const head = await chain.head(async () => {
        if (++calls > 1) return { kind: 'success', output: '0x' };
        change();
        throw first;
      });
      const onFault = (_: string, fault: unknown): unknown => faults.push(fault);
      return (await ask(dispatcherOf(head, {}, { onFault }), CALL)).text;
    };
    const replace = (): void => void chain.truncate(1).add(2, chain.blocks.length);
    const ok = '{"jsonrpc":"2.0","id":1,"result":"0x"}';
    expect(await run(new StateUnavailableError('taken off'), replace)).toBe(ok);
    chain.truncate(1).add(2, 9);
    expect(await run(new Error('outOfRange'), () => void chain.truncate(1))).toBe(ok);
    expect(await run(new Error('forgotten'), () => void chain.mark({ anchor: chain.ref(1) }))).toBe(ok);
    expect(faults).toEqual([]);
    const still = (): void => undefined;
    expect(await run(new StateUnavailableError('missing'), still)).toBe(
      error(-32002, 'resource unavailable: missing', '1'),
    );
    expect(await run(new Error('disk'), still)).toBe(error(-32002, 'resource unavailable', '1'));
    expect(faults).toEqual([new Error('disk')]);
  });

  it('without end is an error, for each id', async () => {
    const chain = new FakeChain().add(0).add(1);
    let runs = 0;
    const head = await chain.head(async () => {
      chain.truncate(0).add(1, ++runs);
      await head.refresh();
      return { kind: 'success', output: '0x' };
    });
    const reason = 'resource unavailable: the chain was reorganised during the request';
    expect((await ask(dispatcherOf(head), CALL)).text).toBe(error(-32002, reason, '1'));
    expect(runs).toBe(3);
    expect((await ask(dispatcherOf(head), `[${CALL},${call('eth_chainId', [], 2)}]`)).text).toBe(
      `[${error(-32002, reason, '1')},${error(-32002, reason, '2')}]`,
    );
    expect(runs).toBe(6);
  });

  it('without end is no fault of the node', async () => {
    const chain = new FakeChain().add(0).add(1);
    let runs = 0;
    const head = await chain.head(() => {
      chain.truncate(0).add(1, ++runs);
      return Promise.reject(new Error('outOfRange'));
    });
    const onFault = vi.fn<(method: string, fault: unknown) => void>();
    expect((await ask(dispatcherOf(head, {}, { onFault }), CALL)).text).toContain('was reorganised');
    expect(runs).toBe(3);
    expect(onFault).not.toHaveBeenCalled();
  });

  it('keeps its error when the store cannot be read', async () => {
    const chain = new FakeChain().add(0);
    const head = await chain.head(() => {
      chain.marks = () => {
        throw new Error('disk');
      };
      return Promise.reject(new StateUnavailableError('missing'));
    });
    expect((await ask(dispatcherOf(head), CALL)).text).toContain('resource unavailable: missing');
  });
});

describe('blocks that are not held (B2, B5)', () => {
  const TO = `0x${'00'.repeat(20)}`;

  /** Blocks from 1, state from 3. */
  async function dispatcher(): Promise<Dispatcher> {
    const chain = new FakeChain().add(0).add(1).add(2).add(3).add(4);
    chain.mark({ lowest: chain.ref(1), anchor: chain.ref(3) });
    return dispatcherOf(await chain.head());
  }
  const logs = (fromBlock: string, toBlock: string): string => call('eth_getLogs', [{ fromBlock, toBlock }]);

  it.each([
    ['state below the anchor', call('eth_getTransactionCount', [TO, '0x2'])],
    ['a call below the anchor', call('eth_call', [{ to: TO }, { blockNumber: '0x2' }])],
  ])('%s is not available', async (_, text) => {
    expect((await ask(await dispatcher(), text)).text).toBe(
      error(-32002, 'state of block 0x2 is not available: the lowest block with state is 0x3', '1'),
    );
  });

  it.each([
    ['logs of a block', logs('0x0', '0x0')],
    ['logs of a range that begins', logs('0x0', '0x4')],
    ['state', call('eth_getTransactionCount', [TO, '0x0'])],
  ])('%s below the lowest block is not found, whose number is told', async (_, text) => {
    expect((await ask(await dispatcher(), text)).text).toBe(
      error(-32001, 'block not found: 0x0: the lowest block held is 0x1', '1'),
    );
  });

  it('receipts below the lowest block are null', async () => {
    expect((await ask(await dispatcher(), call('eth_getBlockReceipts', ['0x0']))).text).toContain(
      '"result":null',
    );
  });

  it('logs and receipts between are served', async () => {
    const text = `[${logs('0x1', '0x2')},${logs('earliest', '0x2')},${call('eth_getBlockReceipts', ['0x1'])}]`;
    const entries = JSON.parse((await ask(await dispatcher(), text)).text) as { result: unknown[] }[];
    expect(entries.map(({ result }) => result.length)).toEqual([3, 3, 1]);
  });
});

describe('what a listener may not serve (A7, B9)', () => {
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
    const dispatcher = dispatcherOf(head, {}, { onFault: (_method, fault) => faults.push(fault) });
    const { text } = await ask(dispatcher, call('eth_call', [{ to: `0x${'00'.repeat(20)}` }]));
    expect(text).toBe(error(-32002, 'resource unavailable', '1'));
    expect(faults).toHaveLength(1);
  });
});

describe('a thread that has others to serve', () => {
  /** Holds the thread for longer than all requests of one turn may. */
  const slow: FakeCall = () => {
    const end = performance.now() + 15;
    while (performance.now() < end);
    return { kind: 'success', output: '0x' };
  };
  const CALL = call('eth_call', [{ to: `0x${'aa'.repeat(20)}` }]);

  /** Turns of the event loop until the answer is there. */
  async function turnsUntil(answer: Promise<unknown>): Promise<number> {
    const progress = { done: false };
    void answer.finally(() => {
      progress.done = true;
    });
    let turns = 0;
    for (; !progress.done; turns++) await nextTurn();
    return turns;
  }

  it('answers entries of a batch in as many turns as they need', async () => {
    const dispatcher = await testDispatcher({}, undefined, slow);
    const batch = ask(dispatcher, `[${Array.from({ length: 6 }, () => CALL).join()}]`);
    expect(await turnsUntil(batch)).toBeGreaterThanOrEqual(5);
    expect((await batch).text).toContain('"result":"0x"');
  });

  it('answers requests of one turn in as many turns as they need, and short ones at once', async () => {
    const dispatcher = await testDispatcher({}, undefined, slow);
    const all = Promise.all(Array.from({ length: 6 }, () => ask(dispatcher, CALL)));
    expect(await turnsUntil(all)).toBeGreaterThanOrEqual(5);
    await nextTurn();
    const { signal } = new AbortController();
    const short = dispatcher.handle(Buffer.from(call('eth_chainId')), { signal, client: 'test' });
    expect(short).not.toBeInstanceOf(Promise);
  });

  it('refuses a body that is slow to parse, before it is parsed', async () => {
    const dispatcher = await testDispatcher({ maxElements: 1_000 });
    const slots = (count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`0x${at}`, '0x']));
    const answer = await ask(dispatcher, call('eth_call', [{}, 'latest', { state: slots(600) }]));
    expect(JSON.parse(answer.text)).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: 'request too complex, at most 1000 values and names' },
    });
    const fits = await ask(dispatcher, call('eth_call', [{}, 'latest', { state: slots(400) }]));
    expect(JSON.parse(fits.text)).toMatchObject({ id: 1, error: { code: -32602 } });
  });
});
