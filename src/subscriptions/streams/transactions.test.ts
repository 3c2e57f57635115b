import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FAKE_RENDER } from '../../../test/support/serve/head.ts';
import { command, GENESIS, UNDO_WINDOW, World } from '../../../test/support/serve/subscription-world.ts';
import {
  confirmed,
  flashblockEvent,
  hashOf,
  type MadeBlock,
  makeBlock,
  removed,
} from '../../../test/support/serve/subscriptions.ts';
import type { FeedEvent } from '../../feed/interface.ts';
import { BlockJson } from '../../head/block-json.ts';
import { ZERO_HASH } from '../../primitives/hex.ts';
import type { Sink } from '../interface.ts';
import type { TransactionRequest } from '../request.ts';
import { BlockTransactions } from './block-transactions.ts';
import { Ledger } from './ledger.ts';
import { TransactionStreams } from './transactions.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const ALL: TransactionRequest = { kind: 'transactionReceipts', hashes: undefined };

interface ReceiptJson {
  readonly transactionHash: string;
  readonly blockHash: string;
  readonly removed?: boolean;
  readonly logs: readonly { readonly blockHash: string }[];
}

const json = new BlockJson({
  ...FAKE_RENDER,
  transactions: ({ block }, first, blockHash) =>
    (JSON.parse(Buffer.from(block).toString()) as number[]).map((transaction, at) =>
      JSON.stringify({ transaction, index: first + at, blockHash }),
    ),
});

/** A client: what it was sent, and the receipts it holds. */
class Client implements Sink {
  readonly client = '192.0.2.1';
  readonly isFull = false;
  readonly held: string[] = [];
  readonly problems: string[] = [];
  sent: unknown[] = [];

  send(message: Buffer): void {
    const { params } = JSON.parse(message.toString()) as { params: { result: unknown } };
    this.sent.push(params.result);
    if (!Array.isArray(params.result)) return;
    for (const { removed: isRemoved, ...receipt } of params.result as ReceiptJson[]) {
      const text = JSON.stringify(receipt);
      if (isRemoved !== true) this.held.push(text);
      // Newest first, and just as it was told.
      else if (this.held.pop() !== text) this.problems.push(text);
    }
  }

  take(): unknown[] {
    const { sent } = this;
    this.sent = [];
    return sent;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {}
}

function start() {
  const ledger = new Ledger({ undoWindow: UNDO_WINDOW }, GENESIS);
  const streams = new TransactionStreams({ undoWindow: UNDO_WINDOW }, { ledger, json });
  const subscribe = (request: TransactionRequest): Client & { readonly end: () => void } => {
    const client = new Client();
    return Object.assign(client, { end: streams.open(request, '0x1', client) });
  };
  return { subscribe, publish: (event: FeedEvent): void => streams.take(ledger.apply(event)) };
}

const receiptsIn = (block: BlockTransactions): readonly string[] =>
  Array.from({ length: block.length }, (_, index) => block.receipt(index, true));

/** Those of sealed blocks, which never change: to make them again after each event was most of what the test did. */
const sealed = new WeakMap<MadeBlock, readonly string[]>();
function sealedReceipts(block: MadeBlock): readonly string[] {
  const known = sealed.get(block);
  if (known !== undefined) return known;
  const receipts = receiptsIn(BlockTransactions.confirmed(confirmed(block), json));
  sealed.set(block, receipts);
  return receipts;
}

/** All receipts up to `pending`, as eth_getBlockReceipts has them. */
function receiptsOf(world: World): readonly string[] {
  const pending = world.head.on(world.tip)?.blocks ?? [];
  return [
    ...world.chain.flatMap(sealedReceipts),
    ...pending.flatMap((block) => receiptsIn(BlockTransactions.preconfirmed(block, json))),
  ];
}

const withoutHashes = (receipt: string): string => receipt.replaceAll(/"blockHash":"0x[0-9a-f]*"/g, '');

it(`clients hold the receipts up to pending, each once (B11, seed ${seed})`, { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(
      fc.array(command, { minLength: 10, maxLength: 60 }),
      fc.nat({ max: 30 }),
      fc.boolean(),
      (orders, joining, isHashless) => {
        const world = new World({ isHashless });
        const { subscribe, publish } = start();
        const client = subscribe(ALL);
        const hashes = subscribe({ kind: 'newPendingTransactions', full: false });
        let late: Client | undefined;
        for (const [at, order] of orders.entries()) {
          if (at === joining) late = subscribe(ALL);
          const event = world.run(order);
          if (event === undefined) continue;
          publish(event);
          const expected = receiptsOf(world).map(withoutHashes);
          expect(client.held.map(withoutHashes)).toEqual(expected);
          if (late !== undefined && late.held.length > 0) {
            expect(expected.slice(-late.held.length)).toEqual(late.held.map(withoutHashes));
          }
          expect([...client.problems, ...(late?.problems ?? [])]).toEqual([]);
          const told = new Set(hashes.sent);
          const held = client.held.map((receipt) => (JSON.parse(receipt) as ReceiptJson).transactionHash);
          expect(held.filter((hash) => !told.has(hash))).toEqual([]);
        }
      },
    ),
    { seed, numRuns: Number(process.env['TEST_RUNS'] ?? 300) },
  );
});

it('tells of a transaction when it is pre-confirmed, and not again when it is confirmed (B11)', () => {
  const { subscribe, publish } = start();
  const hashes = subscribe({ kind: 'newPendingTransactions', full: false });
  const full = subscribe({ kind: 'newPendingTransactions', full: true });
  const receipts = subscribe(ALL);
  const [first, second] = [makeBlock(GENESIS, [1]), makeBlock(GENESIS, [1, 6])];
  publish(flashblockEvent(first, 0, 1, 'a'));
  publish(flashblockEvent(second, 1, 1, 'a'));
  expect(hashes.take()).toEqual([hashOf('transaction 1'), hashOf('transaction 6')]);
  expect(full.take()).toEqual([
    { transaction: 1, index: 0, blockHash: ZERO_HASH },
    { transaction: 6, index: 1, blockHash: ZERO_HASH },
  ]);
  expect(receipts.take()).toMatchObject([
    [{ transactionHash: hashOf('transaction 1'), blockHash: ZERO_HASH, logs: [{ logIndex: '0x0' }] }],
    [{ transactionIndex: '0x1', logs: [{ logIndex: '0x1', blockHash: ZERO_HASH }, { logIndex: '0x2' }] }],
  ]);
  const late = subscribe(ALL);
  publish({ kind: 'confirmed', removed: [], added: [confirmed(second)] });
  expect([...hashes.take(), ...full.take(), ...receipts.take()]).toEqual([]);

  // Reorged out: taken back as it was told, and only from those who were told.
  const other = makeBlock(GENESIS, [6, 2], 'other');
  publish({ kind: 'confirmed', removed: [removed(second)], added: [confirmed(other)] });
  expect(hashes.take()).toEqual([hashOf('transaction 2')]);
  expect(full.take()).toMatchObject([
    { transaction: 6, blockHash: other.hash },
    { transaction: 2, blockHash: other.hash },
  ]);
  const [back, come] = receipts.take() as ReceiptJson[][];
  expect(back?.map((receipt) => [receipt.transactionHash, receipt.blockHash, receipt.removed])).toEqual([
    [hashOf('transaction 6'), ZERO_HASH, true],
    [hashOf('transaction 1'), ZERO_HASH, true],
  ]);
  expect(come?.map(({ blockHash, removed: isRemoved }) => [blockHash, isRemoved])).toEqual([
    [other.hash, undefined],
    [other.hash, undefined],
  ]);
  expect(late.take()).toMatchObject([[{ blockHash: other.hash }, { blockHash: other.hash }]]);
});

it('keeps what a sealed block begins with alike, and gives up to a hundred receipts at a time', () => {
  const { subscribe, publish } = start();
  const receipts = subscribe(ALL);
  const many = Array.from({ length: 150 }, (_, at) => at * 4);
  publish(flashblockEvent(makeBlock(GENESIS, [...many, 5]), 0, 151, 'a'));
  expect(receipts.take().map((batch) => (batch as unknown[]).length)).toEqual([100, 51]);
  publish({ kind: 'confirmed', removed: [], added: [confirmed(makeBlock(GENESIS, [...many, 6, 7]))] });
  expect(receipts.take()).toMatchObject([
    [{ transactionHash: hashOf('transaction 5'), removed: true }],
    [{ transactionHash: hashOf('transaction 6') }, { transactionHash: hashOf('transaction 7') }],
  ]);
});

it('gives the receipts of named transactions only, and what is taken back of them', () => {
  const { subscribe, publish } = start();
  const one = subscribe({ ...ALL, hashes: new Set([hashOf('transaction 6')]) });
  publish(flashblockEvent(makeBlock(GENESIS, [1]), 0, 1, 'a'));
  expect(one.take()).toEqual([]);
  publish(flashblockEvent(makeBlock(GENESIS, [1, 6]), 1, 1, 'a'));
  expect(one.take()).toMatchObject([[{ transactionIndex: '0x1' }]]);
  publish({ kind: 'dropped', from: 1, reason: 'gap', version: undefined });
  expect(one.take()).toMatchObject([[{ transactionIndex: '0x1', removed: true }]]);
  one.end();
  publish(flashblockEvent(makeBlock(GENESIS, [6]), 0, 1, 'b'));
  expect(one.take()).toEqual([]);
});
