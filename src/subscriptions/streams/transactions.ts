import type { BlockJson } from '../../head/block-json.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { Sink } from '../interface.ts';
import { notification, SharedNotification } from '../notification.ts';
import type { TransactionRequest } from '../request.ts';
import { BlockTransactions } from './block-transactions.ts';
import { type Change, HeldStack } from './held-stack.ts';
import type { Ledger, LedgerOptions, LedgerStep } from './ledger.ts';

export interface TransactionStreamsModules {
  readonly ledger: Pick<Ledger, 'standing' | 'position'>;
  readonly json: BlockJson;
}

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
  readonly #modules: TransactionStreamsModules;
  readonly #streams = new Set<TransactionStream>();
  /** Kept while anybody subscribes: it costs comparing receipts. */
  #stack: HeldStack<BlockTransactions> | undefined;

  constructor(options: LedgerOptions, modules: TransactionStreamsModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Begins a subscription; what it gives back ends it. */
  open(request: TransactionRequest, id: Hex, sink: Sink): () => void {
    if (this.#stack === undefined) {
      this.#stack = new HeldStack({
        undoWindow: this.#options.undoWindow,
        common: BlockTransactions.common,
      });
      // What stands already is nothing new, and nobody was told of it.
      this.#move({ added: [], removed: [] });
    }
    const stream: TransactionStream = { request, id, sink, liveSince: this.#modules.ledger.position };
    this.#streams.add(stream);
    return () => {
      this.#streams.delete(stream);
      if (this.#streams.size === 0) this.#stack = undefined;
    };
  }

  /** Tells of an event. */
  take(step: LedgerStep): void {
    const change = this.#move(step);
    if (change === undefined) return;
    this.#tellHashes(change);
    this.#tellBodies(change);
    this.#tellReceipts(change);
  }

  #move({ added, removed }: Pick<LedgerStep, 'added' | 'removed'>): Change<BlockTransactions> | undefined {
    const { ledger, json } = this.#modules;
    return this.#stack?.move(ledger.position, {
      removed: removed.map((block) => BlockTransactions.removed(block)),
      added: added.map(({ block }) => ({
        block: BlockTransactions.confirmed(block, json),
        hash: block.hash,
      })),
      stands: ledger.standing.map((block) => ({
        block: BlockTransactions.preconfirmed(block, json),
        hash: block.hashSoFar,
      })),
    }).change;
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

/** Hashes of transactions that came, but for those that only changed their place. */
export function newHashes({ removed, added }: Change<BlockTransactions>): readonly Hex[] {
  const gone = new Set(removed.flatMap((run) => indexesOf(run).map((index) => run.block.hash(index))));
  const come = added.flatMap((run) => indexesOf(run).map((index) => run.block.hash(index)));
  return come.filter((hash) => !gone.has(hash));
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

function indexesOf({
  block,
  first,
  end,
}: {
  block: BlockTransactions;
  first: number;
  end: number;
}): number[] {
  const count = Math.max(0, Math.min(end, block.length) - first);
  return Array.from({ length: count }, (_, at) => first + at);
}

/** JSON arrays of so many at a time. */
function batches(messages: readonly ReceiptMessage[]): readonly string[] {
  const all: string[] = [];
  for (let at = 0; at < messages.length; at += BATCH) {
    all.push(`[${messages.slice(at, at + BATCH).map(({ json }) => json)}]`);
  }
  return all;
}

function tell(streams: readonly TransactionStream[], result: string): void {
  const message = new SharedNotification(result);
  for (const { id, sink } of streams) sink.send(message.to(id));
}
