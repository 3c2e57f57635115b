import { describe, expect, it, onTestFinished } from 'vitest';
import {
  answerTo,
  callsOf,
  type FakeServer,
  RpcFault,
  rejection,
  type SeenCall,
  startFakeServer,
} from '../../test/support/source/upstreams.ts';
import { fromHex, type Hex } from '../primitives/hex.ts';
import { DEFAULT_SOURCE_OPTIONS, type SourceOptions } from './pool/options.ts';
import { RpcSource } from './rpc-source.ts';

// A scripted server for methods that the real ones in test/source have, and for answers that they never give.
const word = (digit: string): Hex => `0x${digit.repeat(64)}`;
const NOT_OFFERED = new RpcFault(-32601, 'the method does not exist/is not available');
const impatient: SourceOptions = {
  ...DEFAULT_SOURCE_OPTIONS,
  pool: { ...DEFAULT_SOURCE_OPTIONS.pool, rounds: 2, backOff: { firstMs: 1, maxMs: 1 } },
};

async function sourceOf(...handlers: ((call: SeenCall) => unknown)[]): Promise<{
  source: RpcSource;
  servers: readonly FakeServer[];
  asked(method: string): number;
}> {
  const servers = await Promise.all(
    handlers.map((handle) => startFakeServer({ http: (body) => ({ body: answerTo(body, handle) }) })),
  );
  const source = new RpcSource(
    servers.map(({ http }) => http),
    impatient,
  );
  onTestFinished(async () => {
    source.close();
    await Promise.all(servers.map((server) => server.stop()));
  });
  const asked = (method: string): number =>
    servers.flatMap(({ received }) => received.flatMap(callsOf)).filter((call) => call.method === method)
      .length;
  return { source, servers, asked };
}

const block = (
  number: number,
  hash: Hex,
  parentHash: Hex,
  transactions: readonly unknown[] = [],
): object => ({
  number: `0x${number.toString(16)}`,
  hash,
  parentHash,
  transactions,
});

describe('receipts', () => {
  const transactions = [word('1'), word('2')];
  const receipt = (transactionHash: unknown, blockHash: Hex = word('a')): object => ({
    transactionHash,
    blockHash,
  });

  it.each([
    ['is missing', NOT_OFFERED],
    ['takes no hash', new RpcFault(-32602, 'invalid argument 0: hex string has length 64')],
  ])('come one by one where the method %s, which is found out once', async (_, refusal) => {
    const { source, asked } = await sourceOf(({ method, params }) => {
      if (method === 'eth_getBlockReceipts') throw refusal;
      return method === 'eth_getBlockByHash'
        ? block(5, word('a'), word('9'), transactions)
        : receipt(params[0]);
    });
    for (let time = 0; time < 2; time++) {
      const { value } = await source.receipts(word('a'));
      expect(value.map(({ transactionHash }) => transactionHash)).toEqual(transactions);
    }
    expect(asked('eth_getBlockReceipts')).toBe(1);
  });

  it('of a block that was reorged out meanwhile are not mixed with those of another', async () => {
    const { source } = await sourceOf(({ method, params }) => {
      if (method === 'eth_getBlockReceipts') throw NOT_OFFERED;
      if (method === 'eth_getBlockByHash') return block(5, word('a'), word('9'), transactions);
      return receipt(params[0], params[0] === word('2') ? word('b') : word('a'));
    });
    expect(await rejection(source.receipts(word('a')))).toMatchObject({ type: { code: 'unknownBlock' } });
  });
});

describe('blocks', () => {
  it('that are not the one asked for are refused, and another upstream is asked', async () => {
    const { source } = await sourceOf(
      () => block(5, word('b'), word('9')),
      () => block(5, word('a'), word('9')),
    );
    expect(await source.blockByHash(word('a'))).toMatchObject({ value: { hash: word('a') } });
    expect(await rejection(source.blockByNumber(6))).toMatchObject({ type: { code: 'garbage' } });
  });

  it('are looked for at every upstream before they are unknown', async () => {
    const { source, servers } = await sourceOf(
      () => null,
      ({ params }) => (params[0] === word('a') ? block(5, word('a'), word('9')) : null),
    );
    expect(await source.blockByHash(word('a'))).toMatchObject({ value: { hash: word('a') } });
    expect(await source.blockByNumber(7)).toBeUndefined();
    expect(servers.map(({ received }) => received.length)).toEqual([2, 2]);
  });

  it('that a chain does not call safe or final are absent', async () => {
    const { source } = await sourceOf(({ params }) => {
      if (params[0] === 'safe') throw new RpcFault(-39001, 'safe block not found');
      return null;
    });
    expect(await source.finality()).toMatchObject({ value: { safe: undefined, finalized: undefined } });
  });
});

describe('whose word it is', () => {
  const numbered = (digit: string) => () => block(5, word(digit), word('9'));

  it('matters where one upstream is named, and then nobody else is asked', async () => {
    const { source, servers } = await sourceOf(numbered('a'), numbered('b'), () => null);
    const [one, two, three] = servers.map(({ http }) => http);
    // At the same time: the same question to another is another question.
    const hashes = await Promise.all([one, two].map((only = '') => source.hashAt(5, { only })));
    expect(hashes.map((hash) => hash?.value)).toEqual([word('a'), word('b')]);
    expect(await source.hashAt(5, { only: three ?? '' })).toBeUndefined();
    expect((await source.head({ only: two ?? '' })).upstream).toBe(two);
    expect(servers.map(({ received }) => received.length)).toEqual([1, 2, 1]);
    source.report(two ?? '', { item: word('b'), what: 'header' });
    expect(await rejection(source.hashAt(5, { only: two ?? '' }))).toMatchObject({
      type: { code: 'noUpstream' },
    });
  });

  it('is told apart for the heads of all, but for those that do not say', async () => {
    const failing = (): never => {
      throw new RpcFault(-32603, 'down');
    };
    const { source, servers } = await sourceOf(failing, numbered('b'), numbered('c'));
    const heads = await source.heads();
    expect(heads.map(({ upstream }) => upstream)).toEqual(servers.slice(1).map(({ http }) => http));
    expect(heads.map(({ value }) => value.hash)).toEqual([word('b'), word('c')]);
    const { source: nobody } = await sourceOf(failing);
    expect(await rejection(nobody.heads())).toMatchObject({ type: { code: 'overloaded' } });
  });
});

describe('block hashes', () => {
  const chain = ['0', '1', '2', '3'].map((digit, at) =>
    block(at, word(digit), word(at === 0 ? 'f' : String(at - 1))),
  );
  const keys = [1, 2, 3].map((number) => ({ kind: 'blockHash', number }) as const);

  it('are those of the ancestors, and of no other block', async () => {
    const { source } = await sourceOf(({ params }) => chain[Number(params[0])] ?? chain[3]);
    const [one, two, self] = await source.state(keys, word('3'));
    expect(one).toMatchObject({ kind: 'blockHash', hash: fromHex(word('1')) });
    expect(two).toMatchObject({ kind: 'blockHash', hash: fromHex(word('2')) });
    expect(self).toEqual({ kind: 'unknown' });
  });

  it('are not asked for again of one that does not hold the blocks', async () => {
    const { source, asked } = await sourceOf(({ params }) =>
      params[0] === '0x1' ? null : (chain[Number(params[0])] ?? chain[3]),
    );
    expect(await rejection(source.state(keys, word('3')))).toMatchObject({
      type: { code: 'stateUnavailable' },
    });
    expect(asked('eth_getBlockByHash')).toBe(1);
  });

  it('are not taken from another fork', async () => {
    const fork = block(2, word('e'), word('1'));
    const { source } = await sourceOf(({ params }) =>
      params[0] === '0x2' ? fork : (chain[Number(params[0])] ?? chain[3]),
    );
    expect(await rejection(source.state(keys, word('3')))).toMatchObject({ type: { code: 'unknownBlock' } });
  });
});

describe('state', () => {
  it('of a wrong shape is the fault of the upstream, and another one is asked', async () => {
    const { source } = await sourceOf(
      () => '0x1234',
      () => word('7'),
    );
    const [slot] = await source.state(
      [{ kind: 'slot', address: new Uint8Array(20), slot: new Uint8Array(32) }],
      word('a'),
    );
    expect(slot).toMatchObject({ kind: 'slot', value: fromHex(word('7')) });
  });

  it('of an account comes with its code, so code is never asked for by hash', async () => {
    const { source, servers } = await sourceOf(({ method }) => (method === 'eth_getCode' ? '0x6001' : '0x2'));
    const reads = await source.state(
      [
        { kind: 'account', address: new Uint8Array(20) },
        { kind: 'code', hash: new Uint8Array(32) },
      ],
      word('a'),
    );
    expect(reads[0]).toMatchObject({ account: { nonce: 2n, balance: 2n, code: fromHex('0x6001') } });
    expect(reads[1]).toEqual({ kind: 'unknown' });
    expect(servers[0]?.received).toHaveLength(1);
  });
});

describe('prestate', () => {
  it.each([
    ['does not exist', NOT_OFFERED],
    ['has no such tracer', new RpcFault(-32000, 'ReferenceError: prestateTracer is not defined')],
  ])('is given up where it %s, after one try', async (_, refusal) => {
    const { source, asked } = await sourceOf(() => {
      throw refusal;
    });
    expect(await source.prestate(word('a'))).toBeUndefined();
    expect(await source.prestate(word('b'))).toBeUndefined();
    expect(asked('debug_traceBlockByHash')).toBe(1);
  });

  it('is asked for again when only the block was unknown', async () => {
    const { source, asked } = await sourceOf(({ params }) => {
      if (params[0] === word('a')) throw new RpcFault(-32000, 'block 0xaa not found');
      return [{ txHash: word('1'), result: { [word('2')]: { balance: '0x1' } } }];
    });
    expect(await source.prestate(word('a'))).toBeUndefined();
    expect(await source.prestate(word('b'))).toMatchObject({ value: [{ [word('2')]: { balance: '0x1' } }] });
    expect(asked('debug_traceBlockByHash')).toBe(2);
  });
});

it('names the chain of each upstream that answers', async () => {
  const { source } = await sourceOf(
    () => '0x1',
    () => {
      throw new RpcFault(-32603, 'down');
    },
    () => '0xa',
  );
  expect((await source.chainIds()).map(({ value }) => value)).toEqual([1n, 10n]);
});

describe('a call that an upstream runs (B17)', () => {
  const failing = (fault: RpcFault) => (): never => {
    throw fault;
  };
  const transaction = { to: `0x${'22'.repeat(20)}`, data: '0x01' };

  it('is asked at the hash of a block, with its overrides', async () => {
    const seen: unknown[] = [];
    const { source } = await sourceOf(({ method, params }) => {
      seen.push([method, params]);
      return '0x0a';
    });
    const { value } = await source.call(transaction, word('1'), [{}, { number: '0x1' }]);
    expect(value).toEqual({ output: '0x0a' });
    expect(seen).toEqual([['eth_call', [transaction, { blockHash: word('1') }, {}, { number: '0x1' }]]]);
  });

  it('may fail, which is an answer: nobody else is asked', async () => {
    const failures = [
      [
        new RpcFault(3, 'execution reverted: no', '0x08'),
        { code: 3, message: 'execution reverted: no', data: '0x08' },
      ],
      [new RpcFault(-32000, 'out of gas'), { code: -32000, message: 'out of gas', data: undefined }],
    ] as const;
    for (const [fault, expected] of failures) {
      const { source, asked } = await sourceOf(failing(fault), () => '0x');
      expect((await source.call(transaction, word('1'), [])).value).toEqual(expected);
      expect(asked('eth_call')).toBe(1);
    }
  });

  it('is asked of another where one cannot run it', async () => {
    const pruned = new RpcFault(-32000, 'missing trie node 00 state is not available');
    for (const fault of [pruned, NOT_OFFERED, new RpcFault(-32000, 'header not found')]) {
      const { source } = await sourceOf(failing(fault), () => '0x0b');
      expect((await source.call(transaction, word('1'), [])).value).toEqual({ output: '0x0b' });
    }
  });
});

describe('state diffs', () => {
  it('are read per transaction, in diff mode', async () => {
    const seen: unknown[] = [];
    const { source } = await sourceOf(({ params }) => {
      seen.push(params);
      return [{ result: { pre: { a: 1 }, post: {}, more: 1 } }];
    });
    expect((await source.stateDiffs(word('1'))).value).toEqual([{ pre: { a: 1 }, post: {} }]);
    expect(seen).toEqual([[word('1'), { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }]]);
  });

  it('of another shape are garbage', async () => {
    const { source } = await sourceOf(() => [{ result: { pre: {} } }]);
    expect(await rejection(source.stateDiffs(word('1')))).toMatchObject({ type: { code: 'garbage' } });
  });
});
