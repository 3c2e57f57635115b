import type { Outcome } from '../../chain/outcome.ts';
import type { ConfirmedBlock, PreconfirmedFlashblock } from '../../feed/interface.ts';
import type { BlockJson } from '../../head/block-json.ts';
import type { PreconfirmedBlock } from '../../head/preconfirmed.ts';
import { RenderedBlock } from '../../head/rendered.ts';
import { type Hex, toHex } from '../../primitives/hex.ts';
import type { Sink } from '../interface.ts';
import { SharedNotification } from '../notification.ts';
import type { BlockRequest } from '../request.ts';
import type { Ledger, LedgerStep } from './ledger.ts';
import { ConfirmedLogs } from './log-run.ts';

export interface BlockStreamsOptions {
  /** Blocks are pre-confirmed before they are sealed. If not, each comes as one flashblock when it is confirmed (B11). */
  readonly hasPreconfirmations: boolean;
}

export interface BlockStreamsModules {
  readonly ledger: Pick<Ledger, 'standing'>;
  readonly json: BlockJson;
}

interface BlockStream {
  readonly id: Hex;
  readonly sink: Sink;
}

/** Subscriptions to heads, flashblocks and their transactions. Nothing is rendered that nobody subscribed to. */
export class BlockStreams {
  readonly #options: BlockStreamsOptions;
  readonly #modules: BlockStreamsModules;
  readonly #heads = new Set<BlockStream>();
  readonly #flashblocks = new Set<BlockStream>();
  readonly #hashes = new Set<BlockStream>();
  readonly #transactions = new Set<BlockStream>();

  constructor(options: BlockStreamsOptions, modules: BlockStreamsModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Begins a subscription; what it gives back ends it. */
  open(request: BlockRequest, id: Hex, sink: Sink): () => void {
    const streams = this.#of(request);
    const stream: BlockStream = { id, sink };
    streams.add(stream);
    return () => streams.delete(stream);
  }

  /** Tells of an event. */
  take({ added, risen }: LedgerStep): void {
    for (const { block } of added) {
      const { header, timestampMs } = block.outcome;
      if (this.#heads.size > 0) tell(this.#heads, this.#modules.json.header(header, timestampMs));
      if (!this.#options.hasPreconfirmations) this.#tellSealed(block);
    }
    const newest = this.#modules.ledger.standing.at(-1);
    if (newest === undefined || risen.length === 0) return;
    if (this.#flashblocks.size > 0) {
      tell(this.#flashblocks, this.#modules.json.preconfirmed(newest, 'whole'), placeOf(newest));
    }
    for (const flashblock of risen) {
      this.#tellHashes(flashblock.outcome);
      if (this.#transactions.size > 0) {
        for (const json of this.#withLogs(flashblock)) tell(this.#transactions, json);
      }
    }
  }

  /** A block of a chain without pre-confirmations, as one flashblock. */
  #tellSealed({ hash, outcome }: ConfirmedBlock): void {
    // Reading all of a block takes longer than all else that a thread does for it.
    if (this.#flashblocks.size + this.#hashes.size + this.#transactions.size === 0) return;
    const { json } = this.#modules;
    const block = { ...outcome, hash };
    if (this.#flashblocks.size > 0) tell(this.#flashblocks, json.sealed(block, 'whole'));
    this.#tellHashes(outcome);
    if (this.#transactions.size === 0) return;
    const logs = new RenderedBlock(new ConfirmedLogs({ number: outcome.number, hash, outcome }));
    for (const text of withLogs(outcome, json.transactions(block), logs, 0)) tell(this.#transactions, text);
  }

  #tellHashes(outcome: Outcome): void {
    if (this.#hashes.size === 0) return;
    for (const { transactionHash } of outcome.receipts) tell(this.#hashes, `"${toHex(transactionHash)}"`);
  }

  #of(request: BlockRequest): Set<BlockStream> {
    switch (request.kind) {
      case 'newHeads':
        return this.#heads;
      case 'newFlashblocks':
        return this.#flashblocks;
      case 'newFlashblockTransactions':
        return request.full ? this.#transactions : this.#hashes;
    }
  }

  #withLogs(flashblock: PreconfirmedFlashblock): Iterable<string> {
    const { outcome, firstLog } = flashblock;
    const block = this.#modules.ledger.standing.find(({ number }) => number === outcome.number);
    const texts = this.#modules.json.ofFlashblock(flashblock, block?.timestampMs);
    return withLogs(outcome, texts, block?.rendered, firstLog);
  }
}

/** Transactions of a block, each with its logs; `firstLog` is the index of the first one's first. */
function* withLogs(
  { receipts }: Outcome,
  transactions: readonly string[],
  logs: RenderedBlock | undefined,
  firstLog: number,
): Generator<string, void, void> {
  let next = firstLog;
  for (const [at, transaction] of transactions.entries()) {
    const texts: string[] = [];
    for (let left = receipts[at]?.logCount ?? 0; left > 0; left--) texts.push(logs?.log(next++) ?? '');
    yield `${transaction.slice(0, -1)},"logs":[${texts.join()}]}`;
  }
}

/** Which flashblock a block so far is of: beside the block, whose members are those of Base's node. */
function placeOf({ payloadId, index }: PreconfirmedBlock): string {
  return `,"flashblock":${JSON.stringify({ payloadId, index })}`;
}

function tell(streams: ReadonlySet<BlockStream>, result: string, more?: string): void {
  const message = new SharedNotification(result, more);
  for (const { id, sink } of streams) sink.send(message.to(id));
}
