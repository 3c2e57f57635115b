import type { PreconfirmedFlashblock } from '../../feed/interface.ts';
import { NO_HASH, type PreconfirmedBlock } from '../../head/preconfirmed.ts';
import { type Hex, toHex } from '../../primitives/hex.ts';
import type { Render, Sink } from '../interface.ts';
import { SharedNotification } from '../notification.ts';
import type { BlockRequest } from '../request.ts';
import type { Ledger, LedgerStep } from './ledger.ts';

export interface BlockStreamsModules {
  readonly ledger: Pick<Ledger, 'standing'>;
  readonly render: Render;
}

interface BlockStream {
  readonly id: Hex;
  readonly sink: Sink;
}

/** Subscriptions to heads, flashblocks and their transactions. Nothing is rendered that nobody subscribed to. */
export class BlockStreams {
  readonly #modules: BlockStreamsModules;
  readonly #heads = new Set<BlockStream>();
  readonly #flashblocks = new Set<BlockStream>();
  readonly #hashes = new Set<BlockStream>();
  readonly #transactions = new Set<BlockStream>();
  /** JSON of each transaction of a flashblock. */
  readonly #rendered = new WeakMap<PreconfirmedFlashblock, readonly string[]>();

  constructor(modules: BlockStreamsModules) {
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
    if (this.#heads.size > 0) {
      for (const { block } of added) tell(this.#heads, this.#modules.render.header(block.outcome.header));
    }
    const newest = this.#modules.ledger.standing.at(-1);
    if (newest === undefined || risen.length === 0) return;
    if (this.#flashblocks.size > 0) tell(this.#flashblocks, this.#block(newest.block));
    for (const flashblock of risen) {
      if (this.#hashes.size > 0) {
        for (const { transactionHash } of flashblock.outcome.receipts) {
          tell(this.#hashes, `"${toHex(transactionHash)}"`);
        }
      }
      if (this.#transactions.size > 0) {
        for (const json of this.#withLogs(flashblock)) tell(this.#transactions, json);
      }
    }
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

  /** The block so far, as eth_getBlockByNumber gives blocks with their transactions. */
  #block({ flashblocks }: PreconfirmedBlock): string {
    const header = this.#modules.render.header(flashblocks.at(-1)?.outcome.header ?? new Uint8Array());
    const transactions = flashblocks.flatMap((flashblock) => this.#render(flashblock)).join();
    const withdrawals = header.includes('"withdrawalsRoot"') ? ',"withdrawals":[]' : '';
    return `${header.slice(0, -1)},"transactions":[${transactions}],"uncles":[]${withdrawals}}`;
  }

  *#withLogs(flashblock: PreconfirmedFlashblock): Generator<string, void, void> {
    const { number } = flashblock.outcome;
    const logs = this.#modules.ledger.standing.find(({ block }) => block.number === number)?.block.rendered;
    let next = flashblock.firstLog;
    const { receipts } = flashblock.outcome;
    for (const [at, transaction] of this.#render(flashblock).entries()) {
      const texts: string[] = [];
      for (let left = receipts[at]?.logCount ?? 0; left > 0; left--) texts.push(logs?.log(next++) ?? '');
      yield `${transaction.slice(0, -1)},"logs":[${texts.join()}]}`;
    }
  }

  #render(flashblock: PreconfirmedFlashblock): readonly string[] {
    const known = this.#rendered.get(flashblock);
    if (known !== undefined) return known;
    const { outcome, firstTransaction } = flashblock;
    const array = this.#modules.render.transactions(outcome, firstTransaction, NO_HASH);
    const texts = (JSON.parse(array) as readonly unknown[]).map((transaction) => JSON.stringify(transaction));
    this.#rendered.set(flashblock, texts);
    return texts;
  }
}

function tell(streams: ReadonlySet<BlockStream>, result: string): void {
  const message = new SharedNotification(result);
  for (const { id, sink } of streams) sink.send(message.to(id));
}
