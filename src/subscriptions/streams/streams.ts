import { randomBytes } from 'node:crypto';
import type { BlockRef } from '../../chain/outcome.ts';
import type { Options } from '../../config/table.ts';
import type { FeedEvent } from '../../feed/interface.ts';
import type { BlockJson } from '../../head/block-json.ts';
import type { Hex } from '../../primitives/hex.ts';
import { Shares } from '../../primitives/shares.ts';
import { mostUndoBlocks } from '../../primitives/undo-window.ts';
import { Filters, type FiltersOptions } from '../filters/filters.ts';
import type { FilterMetrics } from '../filters/metrics.ts';
import type { FilterVersion } from '../filters/version.ts';
import { DISCONTINUED, type History, type ReadState, type Sink } from '../interface.ts';
import type { StreamMetrics } from '../metrics.ts';
import type { SubscriptionRequest } from '../request.ts';
import type { Subscriber } from '../session.ts';
import { BlockStreams, type BlockStreamsOptions } from './blocks.ts';
import { Ledger, type LedgerOptions, type LedgerStep } from './ledger.ts';
import { LogStreams, type LogStreamsOptions } from './logs.ts';
import { StateStreams, type StateStreamsOptions } from './state.ts';
import { TransactionStack } from './transaction-stack.ts';
import { TransactionStreams } from './transactions.ts';

export interface StreamsOptions
  extends LedgerOptions,
    LogStreamsOptions,
    BlockStreamsOptions,
    StateStreamsOptions {
  readonly maxPerConnection: number;
  /** Subscriptions of all connections together, of which one client may have half. */
  readonly maxSubscriptions: number;
}

type TableOptions = Pick<
  Options,
  | 'undoWindow'
  | 'flashblocks'
  | 'wsSubscriptions'
  | 'wsTotalSubscriptions'
  | 'resumeBlocks'
  | 'resumeReaders'
  | 'resumeWaitMs'
  | 'stateChangesWaiting'
>;

/** Takes what streams need from the table of options. */
export function streamsOptions(options: TableOptions): StreamsOptions {
  const { resumeBlocks, resumeReaders, resumeWaitMs } = options;
  return {
    ...{ resumeBlocks, resumeReaders, resumeWaitMs },
    undoWindow: mostUndoBlocks(options.undoWindow),
    hasPreconfirmations: options.flashblocks !== undefined,
    maxPerConnection: options.wsSubscriptions,
    maxSubscriptions: options.wsTotalSubscriptions,
    maxWaitingEvents: options.stateChangesWaiting,
  };
}

export interface StreamsModules {
  /** The confirmed head when the thread began to hear the feed. */
  readonly tip: BlockRef | undefined;
  readonly history: History;
  readonly json: BlockJson;
  readonly readState: ReadState;
  readonly metrics: StreamMetrics;
  /** On the one thread that keeps the filters of all. */
  readonly filters?:
    | { readonly options: FiltersOptions; readonly metrics: FilterMetrics; readonly version: FilterVersion }
    | undefined;
  /** Hears of what should never happen. */
  readonly onFault: (error: unknown) => void;
}

/** All subscriptions of one serving thread, over whichever listener they came. */
export class Streams implements Subscriber {
  readonly #options: StreamsOptions;
  readonly #modules: StreamsModules;
  readonly #ledger: Ledger;
  readonly #logs: LogStreams;
  readonly #blocks: BlockStreams;
  readonly #states: StateStreams;
  readonly #transactions: TransactionStreams;
  /** Those of all threads, where they are kept. */
  readonly filters: Filters | undefined;
  readonly #sinks = new Map<Sink, number>();
  readonly #idBase = `0x${randomBytes(8).toString('hex').replace(/^0/, '1')}`;
  /** Subscriptions, and places taken for some, by client. */
  readonly #places: Shares;

  constructor(options: StreamsOptions, modules: StreamsModules) {
    this.#options = options;
    this.#modules = modules;
    this.#places = Shares.ofPlaces(options.maxSubscriptions);
    const ledger = new Ledger(options, modules.tip);
    this.#ledger = ledger;
    this.#logs = new LogStreams(options, { ...modules, ledger });
    this.#blocks = new BlockStreams(options, { ...modules, ledger });
    this.#states = new StateStreams(options, modules);
    this.#transactions = new TransactionStreams(options, { ...modules, ledger });
    this.filters =
      modules.filters &&
      new Filters(modules.filters.options, {
        ...{ ledger, metrics: modules.filters.metrics, version: modules.filters.version },
        transactions: () => new TransactionStack(options, { ...modules, ledger }),
      });
  }

  /** Tells subscribers of the next event of the feed. Requests are answered from it already, in every thread. */
  publish(event: FeedEvent): void {
    const step = this.#apply(event);
    if (step === undefined || event.kind === 'anchored') {
      // What clients hold cannot be told apart any more from what this node holds.
      for (const sink of [...this.#sinks.keys()]) sink.close(DISCONTINUED);
      this.#states.forget();
      this.filters?.lose();
      return;
    }
    this.#logs.take(step);
    this.#blocks.take(step);
    this.#states.take(step);
    this.#transactions.take(step);
    this.filters?.take(step);
  }

  get newest(): number {
    return this.#ledger.standing.at(-1)?.number ?? this.#ledger.tip?.number ?? 0;
  }

  get maxPerConnection(): number {
    return this.#options.maxPerConnection;
  }

  takePlace(client: string): boolean {
    return this.#places.take(client, 1);
  }

  givePlaceBack(client: string): void {
    this.#places.give(client, 1);
  }

  /** The same for the same place on every connection, so that connections can share messages. */
  idOf(place: number): Hex {
    return `${this.#idBase}${place.toString(16).padStart(16, '0')}` as Hex;
  }

  open(request: SubscriptionRequest, id: Hex, sink: Sink): () => void {
    this.#sinks.set(sink, (this.#sinks.get(sink) ?? 0) + 1);
    this.#modules.metrics.subscribed(request.kind, 1);
    const close = this.#begin(request, id, sink);
    return () => {
      this.givePlaceBack(sink.client);
      const left = (this.#sinks.get(sink) ?? 1) - 1;
      if (left === 0) this.#sinks.delete(sink);
      else this.#sinks.set(sink, left);
      this.#modules.metrics.subscribed(request.kind, -1);
      close();
    };
  }

  #begin(request: SubscriptionRequest, id: Hex, sink: Sink): () => void {
    switch (request.kind) {
      case 'logs':
      case 'pendingLogs':
        return this.#logs.open(request, id, sink);
      case 'newHeads':
      case 'newFlashblocks':
      case 'newFlashblockTransactions':
        return this.#blocks.open(request, id, sink);
      case 'stateChanges':
        return this.#states.open(request, id, sink);
      case 'newPendingTransactions':
      case 'transactionReceipts':
        return this.#transactions.open(request, id, sink);
    }
  }

  #apply(event: FeedEvent): LedgerStep | undefined {
    try {
      return this.#ledger.apply(event);
    } catch (error) {
      this.#modules.onFault(error);
      this.#ledger.reset(event.kind === 'confirmed' ? event.added.at(-1) : undefined);
      return undefined;
    }
  }
}
