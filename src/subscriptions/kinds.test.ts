import { Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { FAKE_RENDER } from '../../test/support/serve/head.ts';
import { GENESIS } from '../../test/support/serve/subscription-world.ts';
import {
  confirmed,
  flashblockEvent,
  hashOf,
  type MadeBlock,
  makeBlock,
  NO_CHANGES,
  removed,
} from '../../test/support/serve/subscriptions.ts';
import type { StateDiff } from '../chain/diff.ts';
import type { FeedEvent } from '../feed/interface.ts';
import { BlockJson } from '../head/block-json.ts';
import { type Awaitable, fromHex, type Hex } from '../primitives/hex.ts';
import type { CurrentState, Sink } from './interface.ts';
import { StreamMetrics } from './metrics.ts';
import type { SubscriptionRequest } from './request.ts';
import { Streams, type StreamsOptions } from './streams/streams.ts';

const ONE = `0x${'11'.repeat(20)}` as const;
const TWO = `0x${'22'.repeat(20)}` as const;
const slot = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`;
/** RLP of nonce 5, balance 1,000 and a code hash. */
const account = fromHex(`0xe5058203e8a0${'cc'.repeat(32)}`);

const changes = (address: Hex, value: number): StateDiff => ({
  ...NO_CHANGES,
  accounts: [[fromHex(address), account]],
  slots: [[fromHex(address), fromHex(slot(1)), Uint8Array.of(value)]],
});
const sealed = (block: MadeBlock, diff?: StateDiff): FeedEvent => ({
  kind: 'confirmed',
  removed: [],
  added: [confirmed(block, diff)],
});

class Results implements Sink {
  readonly client = '192.0.2.1';
  results: unknown[] = [];
  /** What came beside them. */
  readonly places: unknown[] = [];
  closedWith: number | undefined;
  readonly isFull = false;

  send(message: Buffer): void {
    const { params } = JSON.parse(message.toString()) as {
      params: { result: unknown; flashblock?: unknown };
    };
    this.results.push(params.result);
    if (params.flashblock !== undefined) this.places.push(params.flashblock);
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  close({ code }: { readonly code: number }): void {
    this.closedWith = code;
  }

  /** What came since this was last asked. */
  take(): unknown[] {
    const { results } = this;
    this.results = [];
    return results;
  }
}

type StateSource = () => Awaitable<CurrentState>;

/** A state in which no account exists, and every slot holds a number. */
const empty = (value: number): CurrentState => ({
  account: () => ({ nonce: '0x0', balance: '0x0' }),
  storageAt: () => slot(value),
});

function start(currentState: StateSource = () => empty(0), options: Partial<StreamsOptions> = {}) {
  const streams = new Streams(
    {
      ...{
        undoWindow: 16,
        hasPreconfirmations: true,
        resumeBlocks: 2,
        resumeReaders: 2,
        resumeWaitMs: 1_000,
        maxWaitingEvents: 2,
      },
      ...{ maxPerConnection: 8, maxSubscriptions: 100, ...options },
    },
    {
      tip: GENESIS,
      history: { logs: async function* none() {}, isCanonical: () => true },
      json: new BlockJson({
        ...FAKE_RENDER,
        header: (header) => Buffer.from(header).toString(),
        block: (pieces, hash) => JSON.stringify({ pieces: pieces.length, hash }),
        transactions: ({ block }, first, blockHash) =>
          (JSON.parse(Buffer.from(block).toString()) as number[]).map((transaction, at) =>
            JSON.stringify({ transaction, index: first + at, blockHash }),
          ),
      }),
      readState: async (read) => read(await currentState()),
      metrics: new StreamMetrics(new Registry()),
      onFault: vi.fn<(error: unknown) => void>(),
    },
  );
  const subscribe = (request: SubscriptionRequest): Results => {
    const sink = new Results();
    streams.open(request, '0x1', sink);
    return sink;
  };
  return { streams, subscribe };
}

it('newHeads: every block that becomes part of the chain, in order', () => {
  const { streams, subscribe } = start();
  const heads = subscribe({ kind: 'newHeads' });
  const one = makeBlock(GENESIS, [1]);
  const other = makeBlock(GENESIS, [2], 'other');
  const two = makeBlock(other, [3]);
  streams.publish(flashblockEvent(one, 0, 1, 'a'));
  streams.publish(sealed(one));
  streams.publish({ kind: 'confirmed', removed: [removed(one)], added: [confirmed(other), confirmed(two)] });
  expect(heads.take()).toEqual([one, other, two].map(({ number, hash }) => ({ number, hash })));
});

it('newFlashblocks: the block so far with its transactions; transactions one by one, with their logs', () => {
  const { streams, subscribe } = start();
  const blocks = subscribe({ kind: 'newFlashblocks' });
  const hashes = subscribe({ kind: 'newFlashblockTransactions', full: false });
  const full = subscribe({ kind: 'newFlashblockTransactions', full: true });
  const [first, second] = [makeBlock(GENESIS, [1]), makeBlock(GENESIS, [1, 4, 2])];
  streams.publish(flashblockEvent(first, 0, 1, 'a'));
  streams.publish(flashblockEvent(second, 1, 2, 'a'));
  const blockHash = `0x${'0'.repeat(64)}`;
  const transactions = [1, 4, 2].map((transaction, index) => ({ transaction, index, blockHash }));
  expect(blocks.take()).toEqual([
    { pieces: 1, hash: blockHash, transactions: transactions.slice(0, 1) },
    { pieces: 2, hash: blockHash, transactions },
  ]);
  expect(blocks.places).toEqual([0, 1].map((index) => ({ payloadId: 'a', index })));
  expect(hashes.take()).toEqual([1, 4, 2].map((transaction) => hashOf(`transaction ${transaction}`)));
  const sent = full.take() as {
    readonly transaction: number;
    readonly logs: { readonly logIndex: string }[];
  }[];
  expect(sent.map(({ logs, ...rest }) => ({ ...rest, logs: logs.map(({ logIndex }) => logIndex) }))).toEqual([
    { ...transactions[0], logs: ['0x0'] },
    { ...transactions[1], logs: [] },
    { ...transactions[2], logs: ['0x1', '0x2'] },
  ]);
  // What does not stand on the head cannot be read, and is not told.
  const stranger = makeBlock({ number: 5, hash: hashOf('five') }, [1]);
  streams.publish(flashblockEvent(stranger, 0, 1, 'b'));
  expect([...blocks.take(), ...hashes.take(), ...full.take()]).toEqual([]);
});

it('without pre-confirmations each block comes as one flashblock, with its hash; a reorg takes back (B11)', async () => {
  const { streams, subscribe } = start(() => empty(9), { hasPreconfirmations: false });
  const query = { addresses: [], topics: [] };
  const logs = subscribe({ kind: 'pendingLogs', query, from: undefined });
  const blocks = subscribe({ kind: 'newFlashblocks' });
  const hashes = subscribe({ kind: 'newFlashblockTransactions', full: false });
  const full = subscribe({ kind: 'newFlashblockTransactions', full: true });
  const states = subscribe({ kind: 'stateChanges', addresses: [ONE] });
  const block = makeBlock(GENESIS, [1, 6]);
  const { hash: blockHash } = block;
  const withHash = (blockLogs: unknown[]): unknown[] =>
    (blockLogs as Record<string, unknown>[]).map(({ logIndex, removed: isRemoved, ...log }) => ({
      ...{ logIndex, isRemoved, blockHash: log['blockHash'] },
    }));

  streams.publish(sealed(block, changes(ONE, 7)));
  expect(withHash(logs.take())).toEqual(
    ['0x0', '0x1', '0x2'].map((logIndex) => ({ logIndex, isRemoved: false, blockHash })),
  );
  const transactions = [1, 6].map((transaction, index) => ({ transaction, index, blockHash }));
  expect(blocks.take()).toEqual([{ pieces: 1, hash: blockHash, transactions }]);
  expect(hashes.take()).toEqual([1, 6].map((transaction) => hashOf(`transaction ${transaction}`)));
  expect(full.take()).toMatchObject([
    { ...transactions[0], logs: [{ logIndex: '0x0', blockHash }] },
    { ...transactions[1], logs: [{ logIndex: '0x1' }, { logIndex: '0x2', blockHash }] },
  ]);
  expect(states.take()).toMatchObject([{ address: ONE, nonce: 5 }]);

  const other = makeBlock(GENESIS, [2], 'other');
  const reorged = [removed(block, changes(ONE, 7))];
  streams.publish({ kind: 'confirmed', removed: reorged, added: [confirmed(other)] });
  expect(withHash(logs.take())).toEqual([
    ...['0x2', '0x1', '0x0'].map((logIndex) => ({ logIndex, isRemoved: true, blockHash })),
    ...['0x0', '0x1'].map((logIndex) => ({ logIndex, isRemoved: false, blockHash: other.hash })),
  ]);
  expect(blocks.take()).toMatchObject([{ pieces: 1, hash: other.hash }]);
  expect(hashes.take()).toEqual([hashOf('transaction 2')]);
  expect(full.take()).toMatchObject([{ blockHash: other.hash }]);
  await vi.waitFor(() => expect(states.take()).toMatchObject([{ address: ONE, nonce: 0 }]));
});

it('says up to where the chain can be read with each log, to who asks for it (B11)', () => {
  const { streams } = start();
  const points: unknown[] = [];
  const sink: Sink = {
    client: '192.0.2.1',
    isFull: false,
    send: (message) =>
      points.push((JSON.parse(message.toString()) as { params: { point: unknown } }).params.point),
    drained: () => Promise.resolve(),
    close: () => undefined,
  };
  const query = { addresses: [], topics: [] };
  streams.open({ kind: 'pendingLogs', query, from: undefined, points: true }, '0x1', sink);
  const [first, second] = [makeBlock(GENESIS, [1]), makeBlock(GENESIS, [1, 1])];
  streams.publish(flashblockEvent(first, 0, 1, 'a'));
  streams.publish(flashblockEvent(second, 1, 2, 'a'));
  streams.publish(sealed(second));
  streams.publish(sealed(makeBlock(second, [1])));
  expect([...new Set(points)]).toEqual(['1;0', '1;1', '2']);
});

it('gives milliseconds where a block has them: heads, blocks, transactions and logs (B18)', () => {
  const { streams, subscribe } = start(() => empty(9), { hasPreconfirmations: false });
  const heads = subscribe({ kind: 'newHeads' });
  const blocks = subscribe({ kind: 'newFlashblocks' });
  const logs = subscribe({ kind: 'logs', query: { addresses: [], topics: [] }, from: undefined });
  const block = makeBlock(GENESIS, [1]);
  const [timestampMs, blockTimestampMs] = ['0xf4e18', '0xf4e18'];
  const { outcome, ...ref } = confirmed(block);
  const timed = { ...ref, outcome: { ...outcome, timestampMs: 1_003_032 } };
  streams.publish({ kind: 'confirmed', removed: [], added: [timed] });
  expect(heads.take()).toEqual([{ number: 1, hash: block.hash, timestampMs }]);
  expect(blocks.take()).toMatchObject([{ timestampMs, transactions: [{ blockTimestampMs }] }]);
  expect(logs.take()).toMatchObject([{ blockTimestampMs, removed: false }]);
  const gone = { ...removed(block), timestampMs: 1_003_032 };
  streams.publish({ kind: 'confirmed', removed: [gone], added: [confirmed(makeBlock(GENESIS, [0], 'b'))] });
  expect(logs.take()).toMatchObject([{ blockTimestampMs, removed: true }]);
  const [head] = heads.take() as object[];
  expect(head).not.toHaveProperty('timestampMs');
});

it('stateChanges: what changed of watched accounts, once; what holds now when it is taken back', async () => {
  const { streams, subscribe } = start(() => empty(9));
  const one = subscribe({ kind: 'stateChanges', addresses: [ONE] });
  const both = subscribe({ kind: 'stateChanges', addresses: [ONE, TWO] });
  const block = makeBlock(GENESIS, [1]);
  const change = { address: ONE, nonce: 5, balance: '0x3e8', storage: { [slot(1)]: slot(7) } };
  streams.publish(flashblockEvent(block, 0, 1, 'a', changes(ONE, 7)));
  expect(one.take()).toEqual([change]);
  streams.publish(sealed(block, changes(ONE, 7)));
  expect(one.take()).toEqual([]);
  expect(both.take()).toEqual([change]);

  // Not pre-confirmed, and only of the other.
  const next = makeBlock(block, [2]);
  streams.publish(
    sealed(next, { ...NO_CHANGES, slots: [[fromHex(TWO), fromHex(slot(2)), new Uint8Array()]] }),
  );
  expect(one.take()).toEqual([]);
  expect(both.take()).toEqual([{ address: TWO, storage: { [slot(2)]: slot(0) } }]);

  const pre = makeBlock(next, [1]);
  streams.publish(flashblockEvent(pre, 0, 1, 'b', changes(ONE, 8)));
  one.take();
  streams.publish({ kind: 'dropped', from: 3, reason: 'gap', version: undefined });
  const now = { address: ONE, nonce: 0, balance: '0x0', storage: { [slot(1)]: slot(9) } };
  await vi.waitFor(() => expect(one.take()).toEqual([now]));

  const other = makeBlock(GENESIS, [1], 'other');
  streams.publish({
    kind: 'confirmed',
    removed: [removed(next), removed(block, changes(ONE, 7))],
    added: [confirmed(other)],
  });
  await vi.waitFor(() => expect(one.take()).toEqual([now]));
});

it('stateChanges: keeps the order while state is read, and closes when too much would wait', async () => {
  const { promise, resolve } = Promise.withResolvers<CurrentState>();
  const { streams, subscribe } = start(() => promise);
  const one = subscribe({ kind: 'stateChanges', addresses: [ONE] });
  const publish = (index: number): void => {
    const block = makeBlock(
      GENESIS,
      Array.from({ length: index + 1 }, () => 1),
    );
    streams.publish(flashblockEvent(block, index, 1, 'a', changes(ONE, index)));
  };
  publish(0);
  streams.publish({ kind: 'dropped', from: 1, reason: 'gap', version: undefined });
  publish(0);
  expect(one.take()).toHaveLength(1);
  publish(1);
  expect(one.closedWith).toBe(4009);
  resolve(empty(3));
  await vi.waitFor(() => expect(one.results).toHaveLength(2));
  expect(one.take()).toMatchObject([
    { storage: { [slot(1)]: slot(3) } },
    { storage: { [slot(1)]: slot(0) } },
  ]);
});

it('stateChanges: tells with the next event what could not be read, and closes when that goes on', async () => {
  const taken = (): Promise<never> => Promise.reject(new Error('the block was taken off the chain'));
  let state: CurrentState = { account: taken, storageAt: taken };
  const { streams, subscribe } = start(() => state);
  const one = subscribe({ kind: 'stateChanges', addresses: [ONE] });
  const block = makeBlock(GENESIS, [1]);
  const drop = async (): Promise<void> => {
    streams.publish({ kind: 'dropped', from: 1, reason: 'gap', version: undefined });
    await new Promise(setImmediate);
  };
  streams.publish(flashblockEvent(block, 0, 1, 'a', changes(ONE, 7)));
  await drop();
  expect(one.take()).toHaveLength(1);
  state = empty(4);
  await drop();
  expect(one.take()).toEqual([{ address: ONE, nonce: 0, balance: '0x0', storage: { [slot(1)]: slot(4) } }]);

  state = { account: taken, storageAt: taken };
  streams.publish(flashblockEvent(block, 0, 1, 'b', changes(ONE, 7)));
  for (let failed = 0; failed < 3; failed++) await drop();
  expect(one.closedWith).toBeUndefined();
  await drop();
  expect(one.closedWith).toBe(4009);
});

it('stateChanges: tells of what earlier blocks had changed, also those before the subscription', async () => {
  const { streams, subscribe } = start(() => empty(9));
  const block = makeBlock(GENESIS, [1]);
  streams.publish(sealed(block, changes(ONE, 7)));
  const other = subscribe({ kind: 'stateChanges', addresses: [TWO] });
  const next = makeBlock(block, [2]);
  streams.publish(sealed(next, changes(ONE, 8)));
  const one = subscribe({ kind: 'stateChanges', addresses: [ONE] });
  streams.publish({
    kind: 'confirmed',
    removed: [removed(next, changes(ONE, 8)), removed(block, changes(ONE, 7))],
    added: [confirmed(makeBlock(GENESIS, [1], 'other'))],
  });
  const now = { address: ONE, nonce: 0, balance: '0x0', storage: { [slot(1)]: slot(9) } };
  await vi.waitFor(() => expect(one.take()).toEqual([now]));
  expect(other.take()).toEqual([]);
});

it('stateChanges: closes rather than to leave out slots that came back and that nobody can name', () => {
  const { streams, subscribe } = start();
  const [one, two] = [ONE, TWO].map((address) => subscribe({ kind: 'stateChanges', addresses: [address] }));
  const block = makeBlock(GENESIS, [1]);
  const wiping = { ...NO_CHANGES, wiped: [fromHex(ONE)] };
  streams.publish(sealed(block, wiping));
  expect(one?.take()).toEqual([{ address: ONE, wiped: true, storage: {} }]);
  streams.publish({
    kind: 'confirmed',
    removed: [removed(block, wiping)],
    added: [confirmed(makeBlock(GENESIS, [2]))],
  });
  expect([one?.closedWith, two?.closedWith]).toEqual([4009, undefined]);
});

it('closes subscribers when the feed has a gap, and starts over with the next block', () => {
  const { streams, subscribe } = start();
  const logs = subscribe({ kind: 'logs', query: { addresses: [], topics: [] }, from: undefined });
  streams.publish(sealed(makeBlock({ number: 7, hash: hashOf('seven') }, [1])));
  expect(logs.closedWith).toBe(4009);
  expect(logs.take()).toEqual([]);
});
