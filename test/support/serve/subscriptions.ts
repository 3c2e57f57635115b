import { createHash } from 'node:crypto';
import type { StateDiff } from '../../../src/chain/diff.ts';
import type { Log } from '../../../src/chain/log.ts';
import type { BlockRef, Outcome } from '../../../src/chain/outcome.ts';
import type { Receipt } from '../../../src/chain/receipt.ts';
import type { ConfirmedBlock, FeedEvent, RemovedBlock } from '../../../src/feed/interface.ts';
import { renderLog } from '../../../src/head/json.ts';
import { fromHex, type Hex } from '../../../src/primitives/hex.ts';
import type { BlockLogs } from '../../../src/store/interface.ts';
import { ConfirmedLogs } from '../../../src/subscriptions/streams/log-run.ts';

/** For tests only: 32 bytes that stand for a name. */
export const hashOf = (name: string): Hex => `0x${createHash('sha256').update(name).digest('hex')}`;

export const NO_CHANGES: StateDiff = { wiped: [], accounts: [], slots: [], codes: [] };

/** A transaction is a number: it has one log for each unit of its last digit below 4. */
export type Transaction = number;

/** The address that logs of a transaction come from. */
export const addressOf = (transaction: Transaction): Hex =>
  `0x${(0xa0 + (transaction % 3)).toString(16).padStart(40, '0')}`;

/** A block by what is in it. */
export interface MadeBlock extends BlockRef {
  readonly parentHash: Hex;
  readonly timestamp: number;
  readonly transactions: readonly Transaction[];
}

/** A block whose hash follows from its content and `salt`. */
export function makeBlock(parent: BlockRef, transactions: readonly Transaction[], salt = ''): MadeBlock {
  const number = parent.number + 1;
  const hash = hashOf(`${parent.hash} ${transactions.join()} ${salt}`);
  return { number, hash, parentHash: parent.hash, timestamp: 1_000 + 2 * number, transactions };
}

/** What executing transactions gives, counted from the first of them. */
export function outcomeOf(
  block: MadeBlock,
  transactions: readonly Transaction[] = block.transactions,
  diff: StateDiff = NO_CHANGES,
): Outcome {
  const logs = transactions.flatMap((transaction, transactionIndex) =>
    Array.from(
      { length: transaction % 4 },
      (_, at): Log => ({
        transactionIndex,
        address: fromHex(addressOf(transaction)),
        topics: [fromHex(hashOf(`topic ${at}`)), fromHex(hashOf(`topic of ${transaction}`))],
        data: Uint8Array.of(transaction & 255, at),
      }),
    ),
  );
  const receipts = transactions.map(
    (transaction): Receipt => ({
      transactionHash: fromHex(hashOf(`transaction ${transaction}`)),
      type: 2,
      from: new Uint8Array(20),
      to: new Uint8Array(20),
      contractAddress: undefined,
      status: 1,
      root: undefined,
      gasUsed: 21_000,
      cumulativeGasUsed: 21_000,
      effectiveGasPrice: 1n,
      bloom: new Uint8Array(256),
      logCount: transaction % 4,
      extras: [],
    }),
  );
  const { number, hash, parentHash, timestamp } = block;
  return {
    ...{ number, hash, parentHash, timestamp, receipts, logs, diff },
    header: Buffer.from(JSON.stringify({ number, hash })),
    block: Buffer.from(JSON.stringify(transactions)),
    diffBytes: new Uint8Array(),
  };
}

/** A flashblock with the last `count` transactions of a block so far. */
export function flashblockEvent(
  block: MadeBlock,
  index: number,
  count: number,
  payloadId: string,
  diff: StateDiff = NO_CHANGES,
): Extract<FeedEvent, { kind: 'preconfirmed' }> {
  const firstTransaction = block.transactions.length - count;
  const before = block.transactions.slice(0, firstTransaction);
  return {
    kind: 'preconfirmed',
    flashblock: {
      ...{ payloadId, index, firstTransaction },
      version: 1,
      firstLog: before.reduce((sum, transaction) => sum + (transaction % 4), 0),
      outcome: outcomeOf(block, block.transactions.slice(firstTransaction), diff),
    },
  };
}

export function confirmed(block: MadeBlock, diff: StateDiff = NO_CHANGES): ConfirmedBlock {
  const { number, hash } = block;
  return { number, hash, outcome: outcomeOf(block, block.transactions, diff) };
}

export function removed(block: MadeBlock, diff: StateDiff = NO_CHANGES): RemovedBlock {
  const { number, hash, parentHash, timestamp } = block;
  const { logs, receipts } = outcomeOf(block);
  return { number, hash, parentHash, timestamp, logs, receipts, diff };
}

/** The logs of a confirmed block as eth_getLogs gives them. */
export function logsJson(block: MadeBlock): readonly string[] {
  return renderAll(new ConfirmedLogs(confirmed(block)));
}

/** All logs of a block as JSON. */
export function renderAll(block: BlockLogs): readonly string[] {
  return Array.from({ length: block.length }, (_, index) => renderLog(block, index));
}
