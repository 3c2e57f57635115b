import type { Outcome } from '../../chain/outcome.ts';
import type { ConfirmedBlock, PreconfirmedFlashblock } from '../../feed/interface.ts';
import type { PreconfirmedBlock } from '../../head/preconfirmed.ts';
import { RenderedBlock } from '../../head/rendered.ts';
import { type Hex, toHex, ZERO_HASH } from '../../primitives/hex.ts';
import { toQuantity } from '../../primitives/parse.ts';
import type { Render, Sink } from '../interface.ts';
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
  readonly render: Render;
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
  /** JSON of each transaction of a flashblock. */
  readonly #rendered = new WeakMap<PreconfirmedFlashblock, readonly string[]>();

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
      if (this.#heads.size > 0) tell(this.#heads, this.#header(block.outcome));
      if (!this.#options.hasPreconfirmations) this.#tellSealed(block);
    }
    const newest = this.#modules.ledger.standing.at(-1);
    if (newest === undefined || risen.length === 0) return;
    if (this.#flashblocks.size > 0) tell(this.#flashblocks, this.#block(newest.block));
    for (const flashblock of risen) {
      this.#tellHashes(flashblock.outcome);
      if (this.#transactions.size > 0) {
        for (const json of this.#withLogs(flashblock)) tell(this.#transactions, json);
      }
    }
  }

  /** A block of a chain without pre-confirmations, as one flashblock. */
  #tellSealed({ hash, outcome }: ConfirmedBlock): void {
    if (this.#flashblocks.size > 0) {
      const { render } = this.#modules;
      const transactions = this.#list(outcome, 0, hash).join();
      const withdrawals = render.withdrawals(outcome.block);
      tell(this.#flashblocks, wholeBlock(this.#header(outcome), transactions, withdrawals));
    }
    this.#tellHashes(outcome);
    if (this.#transactions.size === 0) return;
    const logs = new RenderedBlock(new ConfirmedLogs({ number: outcome.number, hash, outcome }));
    for (const json of withLogs(outcome, this.#list(outcome, 0, hash), logs, 0)) {
      tell(this.#transactions, json);
    }
  }

  #tellHashes({ receipts }: Outcome): void {
    if (this.#hashes.size === 0) return;
    for (const { transactionHash } of receipts) tell(this.#hashes, `"${toHex(transactionHash)}"`);
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

  /** A header, with another hash than its own where it is not sealed yet. */
  #header({ header, timestampMs }: Pick<Outcome, 'header' | 'timestampMs'>, hash?: Hex): string {
    const json = this.#modules.render.header(header, hash);
    if (timestampMs === undefined) return json;
    return `${json.slice(0, -1)},"timestampMs":"${toQuantity(timestampMs)}"}`;
  }

  /** The block so far, as eth_getBlockByNumber gives blocks with their transactions. */
  #block({ flashblocks, timestampMs, hashSoFar }: PreconfirmedBlock): string {
    const newest = flashblocks.at(-1)?.outcome.header ?? new Uint8Array();
    // The hash of a header that lacks its roots is nobody's.
    const header = this.#header({ header: newest, timestampMs }, hashSoFar ?? ZERO_HASH);
    const transactions = flashblocks.flatMap((flashblock) => this.#render(flashblock)).join();
    return wholeBlock(header, transactions, header.includes('"withdrawalsRoot"') ? '[]' : undefined);
  }

  #withLogs(flashblock: PreconfirmedFlashblock): Iterable<string> {
    const { outcome, firstLog } = flashblock;
    const isIts = ({ block }: { readonly block: PreconfirmedBlock }): boolean =>
      block.number === outcome.number;
    const logs = this.#modules.ledger.standing.find(isIts)?.block.rendered;
    return withLogs(outcome, this.#render(flashblock), logs, firstLog);
  }

  #render(flashblock: PreconfirmedFlashblock): readonly string[] {
    const known = this.#rendered.get(flashblock);
    if (known !== undefined) return known;
    const texts = this.#list(flashblock.outcome, flashblock.firstTransaction, ZERO_HASH);
    this.#rendered.set(flashblock, texts);
    return texts;
  }

  /** JSON of each transaction of an outcome. */
  #list(outcome: Outcome, first: number, blockHash: Hex): readonly string[] {
    const array = this.#modules.render.transactions(outcome, first, blockHash);
    const { timestampMs } = outcome;
    const extra = timestampMs !== undefined && { blockTimestampMs: toQuantity(timestampMs) };
    return (JSON.parse(array) as readonly object[]).map((transaction) =>
      JSON.stringify({ ...transaction, ...extra }),
    );
  }
}

function wholeBlock(header: string, transactions: string, withdrawals: string | undefined): string {
  const rest = withdrawals === undefined ? '' : `,"withdrawals":${withdrawals}`;
  return `${header.slice(0, -1)},"transactions":[${transactions}],"uncles":[]${rest}}`;
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

function tell(streams: ReadonlySet<BlockStream>, result: string): void {
  const message = new SharedNotification(result);
  for (const { id, sink } of streams) sink.send(message.to(id));
}
