import type { Log } from '../../../src/chain/log.ts';
import type { BlockRef } from '../../../src/chain/outcome.ts';
import type { Receipt } from '../../../src/chain/receipt.ts';
import type {
  CallRequest,
  CallResult,
  HeldStateView,
  LoadContext,
  Query,
  QueryResult,
  SimulationResult,
  StateView,
} from '../../../src/executor/interface.ts';
import type { FeedEvent } from '../../../src/feed/interface.ts';
import { BlockJson, type Render } from '../../../src/head/block-json.ts';
import type { ReadableStore } from '../../../src/head/chain-reader.ts';
import { Head, type HeadOptions } from '../../../src/head/head.ts';
import { andThen } from '../../../src/primitives/awaitable.ts';
import { StateUnavailableError } from '../../../src/primitives/errors.ts';
import { type Awaitable, type Hex, toHex } from '../../../src/primitives/hex.ts';
import type {
  BlockLogs,
  BlockReceipts,
  LogMatch,
  LogQuery,
  Marks,
  TransactionPlace,
} from '../../../src/store/interface.ts';
import { createMatcher } from '../../../src/store/match.ts';

/** For tests only: a chain whose content is plain to see, with a state that answers from a function. */
export class FakeChain implements ReadableStore {
  readonly blocks: BlockReceipts[] = [];
  /** Pre-confirmed states that can be read, by version: the nonce is the version. */
  readonly versions = new Map<number, FakeHeldView>();
  /** The lowest block whose transactions are found by hash. */
  indexedFrom = 0;
  #marks: Partial<Omit<Marks, 'head'>> = {};

  /** Adds a block with `logs` logs, one transaction each; `fork` makes its hash differ. */
  add(logs: number, fork = 0): this {
    const number = this.blocks.length;
    const hash: Hex = `0x${fork.toString(16).padStart(32, '0')}${number.toString(16).padStart(32, '0')}`;
    this.blocks.push(fakeBlock({ number, hash }, logs));
    return this;
  }

  /** Gives the last block another hash. */
  rename(hash: Hex): this {
    const last = this.blocks.pop();
    if (last !== undefined) this.blocks.push({ ...last, logs: { ...last.logs, hash } });
    return this;
  }

  /** Takes off the blocks above `number`. */
  truncate(number: number): this {
    this.blocks.length = number + 1;
    return this;
  }

  mark(marks: Partial<Omit<Marks, 'head'>>): this {
    this.#marks = marks;
    return this;
  }

  /** The block at a height that has one. */
  ref(number: number): BlockRef {
    const logs = this.blocks[number]?.logs;
    if (logs === undefined) throw new Error(`no block ${number}`);
    return { number, hash: logs.hash };
  }

  marks(): Marks {
    const first = this.ref(0);
    return {
      lowest: first,
      anchor: first,
      safe: first,
      finalized: first,
      ...this.#marks,
      head: this.ref(this.blocks.length - 1),
    };
  }

  canonicalHash(number: number): Hex | undefined {
    return this.blocks[number]?.logs.hash;
  }

  numberOf(hash: Hex): number | undefined {
    return this.blocks.find(({ logs }) => logs.hash === hash)?.logs.number;
  }

  header(ref: BlockRef): Uint8Array | undefined {
    return this.#at(ref) === undefined ? undefined : Uint8Array.of(ref.number);
  }

  block(ref: BlockRef): Uint8Array | undefined {
    return this.header(ref);
  }

  transaction(hash: Hex): TransactionPlace | undefined {
    for (const { receipts, logs } of this.blocks.slice(this.indexedFrom)) {
      const index = receipts.findIndex(({ transactionHash }) => toHex(transactionHash) === hash);
      if (index >= 0) return { number: logs.number, hash: logs.hash, index };
    }
    return undefined;
  }

  transactionsFrom(): number {
    return this.indexedFrom;
  }

  receipts(ref: BlockRef): BlockReceipts | undefined {
    return this.#at(ref);
  }

  blockLogs(ref: BlockRef): BlockLogs | undefined {
    return this.#at(ref)?.logs;
  }

  async *findLogs(
    query: LogQuery,
    from: number,
    to: number,
    checkpoint: () => void = () => {},
  ): AsyncGenerator<LogMatch, void, void> {
    const matches = createMatcher(query);
    for (let number = from; number <= to; number++) {
      checkpoint();
      const block = this.blocks[number]?.logs;
      if (block === undefined) return;
      const indexes = Array.from({ length: block.length }, (_, i) => i).filter((i) => matches(block.log(i)));
      if (indexes.length > 0) yield { block, indexes };
    }
  }

  /** A flashblock with `logs` logs, one transaction each, whose state can be read from now on. */
  flashblock(made: FakeFlashblock): FeedEvent & { readonly kind: 'preconfirmed' } {
    const { number, index, first = 0, logs = 1, payloadId = 'a', parentHash } = made;
    const version = this.versions.size + 1;
    const ref: BlockRef = { number, hash: fakeHash(`${number}${payloadId}${index}`) };
    this.versions.set(version, new FakeHeldView(ref, version));
    const block = fakeBlock(ref, logs);
    return {
      kind: 'preconfirmed',
      flashblock: {
        ...{ version, payloadId, index, firstTransaction: first, firstLog: first },
        outcome: {
          ...ref,
          parentHash: parentHash ?? this.ref(number - 1).hash,
          timestamp: number * 12,
          header: new Uint8Array(),
          block: new Uint8Array(),
          receipts: block.receipts,
          logs: Array.from({ length: logs }, (_, at) => block.logs.log(at)),
          diff: { wiped: [], accounts: [], slots: [], codes: [] },
          diffBytes: new Uint8Array(),
        },
      },
    };
  }

  /** A head over this chain whose calls are answered by `call`. */
  async head(
    call: FakeCall = () => ({ kind: 'success', output: '0x' }),
    options: Partial<HeadOptions> = {},
  ): Promise<Head> {
    const view = (header: Uint8Array): StateView => fakeView(this.ref(header[0] ?? 0), call);
    return Head.open(
      { renderCacheBytes: 1 << 24, viewCacheEntries: 16, ...options },
      {
        store: this,
        executor: { view, preconfirmedView: (version) => this.versions.get(version)?.open() },
        json: FAKE_JSON,
      },
    );
  }

  #at(ref: BlockRef): BlockReceipts | undefined {
    const block = this.blocks[ref.number];
    return block?.logs.hash === ref.hash ? block : undefined;
  }
}

export interface FakeFlashblock {
  readonly number: number;
  readonly index: number;
  /** Transactions and logs of the block before it. */
  readonly first?: number;
  readonly logs?: number;
  readonly payloadId?: string;
  /** The confirmed block below when left out. */
  readonly parentHash?: Hex;
}

/** For tests only: a block is its number, and each of its transactions its hash. */
export const FAKE_RENDER: Render = {
  header: ([number = 0], hash) => JSON.stringify({ number, ...(hash && { hash }) }),
  block: (pieces, hash) => JSON.stringify({ pieces: pieces.length, ...(hash && { hash }) }),
  transactions: ({ receipts }, first, blockHash, only) =>
    receipts
      .map(({ transactionHash }, at) =>
        JSON.stringify({ hash: toHex(transactionHash), index: first + at, blockHash }),
      )
      .filter((_, at) => only === undefined || only === at),
  rawBlock: (pieces) => Buffer.concat(pieces),
  rawTransaction: (block, index) => Buffer.concat([block, Buffer.from([index])]),
  rawReceipts: (header) => [header],
};
const FAKE_JSON = new BlockJson(FAKE_RENDER);

const fakeHash = (name: string): Hex => `0x${Buffer.from(name).toString('hex').padStart(64, 'f')}`;

export type FakeCall = (request: CallRequest, context?: LoadContext, query?: Query) => Awaitable<CallResult>;

/** The nonce is the block number, every slot holds its own key, and a simulation that does not end otherwise gives back what was asked. */
function fakeView(ref: BlockRef, call: FakeCall): StateView {
  return {
    ref,
    timestamp: ref.number * 12,
    transactionCount: () => `0x${ref.number.toString(16)}`,
    account: () => ({ nonce: `0x${ref.number.toString(16)}`, balance: '0x0' }),
    balance: () => '0x0',
    code: () => '0x',
    storageAt: (_address, slot) => slot,
    call,
    query: (query, request, context) =>
      andThen(call(request, context, query), (result) =>
        result.kind === 'success' ? { kind: 'answer', json: result.output } : result,
      ),
    trace: (block, transaction, options) => ({
      kind: 'answer',
      json: JSON.stringify({ on: ref.number, bytes: block.length, transaction, options }),
    }),
    simulate: async (request) => {
      const ended = await call({ gas: '0x0' });
      if (ended.kind === 'success' || ended.kind === 'revert') {
        return { kind: 'done', json: Buffer.from(JSON.stringify([request])) };
      }
      if (ended.kind !== 'halt' && ended.kind !== 'invalid') return ended;
      return { kind: 'refused', code: -38_014, message: ended.message };
    },
  };
}

/** A pre-confirmed state: the nonce is its version, and who asks it after the last holder has gone is told so. */
export class FakeHeldView implements HeldStateView {
  readonly ref: BlockRef;
  readonly timestamp: number;
  readonly #version: number;
  holders = 0;

  constructor(ref: BlockRef, version: number) {
    this.ref = ref;
    this.timestamp = ref.number * 12;
    this.#version = version;
  }

  open(): this {
    this.holders++;
    return this;
  }

  hold(): void {
    this.holders++;
  }

  release(): void {
    this.holders--;
  }

  transactionCount(): Hex {
    this.#assertHeld();
    return `0x${this.#version.toString(16)}`;
  }

  code(): Hex {
    this.#assertHeld();
    return '0x';
  }

  balance(): Hex {
    this.#assertHeld();
    return '0x0';
  }

  account(): { readonly nonce: Hex; readonly balance: Hex } {
    return { nonce: this.transactionCount(), balance: '0x0' };
  }

  storageAt(_address: Hex, slot: Hex): Hex {
    this.#assertHeld();
    return slot;
  }

  call(): CallResult {
    this.#assertHeld();
    return { kind: 'success', output: '0x' };
  }

  trace(): QueryResult {
    return this.query();
  }

  query(): QueryResult {
    this.#assertHeld();
    return { kind: 'answer', json: '"0x"' };
  }

  async simulate(): Promise<SimulationResult> {
    this.#assertHeld();
    return { kind: 'done', json: Buffer.from('[]') };
  }

  #assertHeld(): void {
    if (this.holders < 1) throw new StateUnavailableError('the state was given back');
  }
}

function fakeBlock(ref: BlockRef, count: number): BlockReceipts {
  const bytes = (length: number, last: number): Uint8Array => new Uint8Array(length).fill(last, length - 1);
  const hashOf = (index: number): Uint8Array => Buffer.concat([bytes(31, ref.number), Uint8Array.of(index)]);
  const logs = Array.from(
    { length: count },
    (_, i): Log => ({
      transactionIndex: i,
      address: bytes(20, 0xa0 + (i % 2)),
      topics: [bytes(32, 1), bytes(32, i % 256)],
      data: bytes(32, ref.number),
    }),
  );
  const receipts = logs.map(
    (_, i): Receipt => ({
      transactionHash: hashOf(i),
      type: 2,
      from: bytes(20, 9),
      to: bytes(20, 0xa0),
      contractAddress: undefined,
      status: 1,
      root: undefined,
      gasUsed: 21_000,
      cumulativeGasUsed: 21_000 * (i + 1),
      effectiveGasPrice: 7n,
      bloom: new Uint8Array(256),
      logCount: 1,
      extras: [],
    }),
  );
  const log = (index: number): Log => {
    const found = logs[index];
    if (found === undefined) throw new RangeError(`no log ${index}`);
    return found;
  };
  return {
    receipts,
    logs: {
      ...ref,
      timestamp: ref.number * 12,
      length: count,
      log,
      transactionHash: hashOf,
    },
  };
}
