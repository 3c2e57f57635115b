import type { Hex } from '../../primitives/hex.ts';
import type { Sink } from '../interface.ts';
import { notification, SharedNotification } from '../notification.ts';
import type { TransactionRequest } from '../request.ts';
import type { BlockTransactions } from './block-transactions.ts';
import type { Change } from './held-stack.ts';
import type { LedgerOptions, LedgerStep } from './ledger.ts';
import { indexesOf, newHashes, TransactionStack, type TransactionStackModules } from './transaction-stack.ts';

interface TransactionStream {
  readonly request: TransactionRequest;
  readonly id: Hex;
  readonly sink: Sink;
  readonly liveSince: number;
}

/** A receipt that is added or taken back. */
interface ReceiptMessage {
  readonly hash: Hex;
  readonly since: number;
  readonly json: string;
}

/** Receipts in one message at most. */
const BATCH = 100;

/** Subscriptions to transactions and receipts, up to `pending`: a client holds each once, and takes back what does not stand. */
export class TransactionStreams {
  readonly #options: LedgerOptions;
  readonly #modules: TransactionStackModules;
  readonly #streams = new Set<TransactionStream>();
  /** Kept while anybody subscribes. */
  #stack: TransactionStack | undefined;

  constructor(options: LedgerOptions, modules: TransactionStackModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Begins a subscription; what it gives back ends it. */
  open(request: TransactionRequest, id: Hex, sink: Sink): () => void {
    this.#stack ??= new TransactionStack(this.#options, this.#modules);
    const stream: TransactionStream = { request, id, sink, liveSince: this.#modules.ledger.position };
    this.#streams.add(stream);
    return () => {
      this.#streams.delete(stream);
      if (this.#streams.size === 0) this.#stack = undefined;
    };
  }

  /** Tells of an event. */
  take(step: LedgerStep): void {
    const change = this.#stack?.move(step);
    if (change === undefined) return;
    this.#tellHashes(change);
    this.#tellBodies(change);
    this.#tellReceipts(change);
  }

  #tellHashes(change: Change<BlockTransactions>): void {
    const streams = this.#of('newPendingTransactions', false);
    if (streams.length === 0) return;
    for (const hash of newHashes(change)) tell(streams, `"${hash}"`);
  }

  #tellBodies({ added }: Change<BlockTransactions>): void {
    const streams = this.#of('newPendingTransactions', true);
    if (streams.length === 0) return;
    for (const { block, first, end } of added) {
      for (const body of block.bodies().slice(first, end)) tell(streams, body);
    }
  }

  #tellReceipts(change: Change<BlockTransactions>): void {
    const streams = this.#of('transactionReceipts');
    if (streams.length === 0) return;
    for (const isRemoved of [true, false]) {
      const all = isRemoved ? removedOf(change) : addedOf(change);
      if (all.length === 0) continue;
      const shared = batches(all).map((result) => new SharedNotification(result));
      for (const { request, id, sink, liveSince } of streams) {
        const { hashes } = request;
        const wanted = all.filter(
          ({ hash, since }) => (!isRemoved || since > liveSince) && (hashes?.has(hash) ?? true),
        );
        if (wanted.length === all.length) for (const message of shared) sink.send(message.to(id));
        else for (const result of batches(wanted)) sink.send(notification(id, result));
      }
    }
  }

  #of<K extends TransactionRequest['kind']>(
    kind: K,
    full?: boolean,
  ): readonly (TransactionStream & { readonly request: Extract<TransactionRequest, { kind: K }> })[] {
    return [...this.#streams].filter(
      (stream): stream is TransactionStream & { request: Extract<TransactionRequest, { kind: K }> } =>
        stream.request.kind === kind && (!('full' in stream.request) || stream.request.full === full),
    );
  }
}

function addedOf({ added }: Change<BlockTransactions>): readonly ReceiptMessage[] {
  return added.flatMap((run) =>
    indexesOf(run).map((index) => ({
      ...{ hash: run.block.hash(index), since: run.since },
      json: run.block.receipt(index, run.hashedFrom === 0),
    })),
  );
}

/** Newest first, as they were told: with the block's hash only where they had it then. */
function removedOf({ removed }: Change<BlockTransactions>): readonly ReceiptMessage[] {
  return removed.flatMap((run) =>
    indexesOf(run)
      .reverse()
      .map((index) => ({
        ...{ hash: run.block.hash(index), since: run.since },
        json: `${run.block.receipt(index, run.hashedFrom === 0).slice(0, -1)},"removed":true}`,
      })),
  );
}

/** JSON arrays of so many at a time. */
function batches(messages: readonly ReceiptMessage[]): readonly string[] {
  const all: string[] = [];
  for (let at = 0; at < messages.length; at += BATCH) {
    const texts = messages.slice(at, at + BATCH).map(({ json }) => json);
    all.push(`[${texts.join()}]`);
  }
  return all;
}

function tell(streams: readonly TransactionStream[], result: string): void {
  const message = new SharedNotification(result);
  for (const { id, sink } of streams) sink.send(message.to(id));
}
