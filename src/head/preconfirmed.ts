import { isSameButStateRoots } from '../chain/header.ts';
import type { Log } from '../chain/log.ts';
import type { BlockRef } from '../chain/outcome.ts';
import type { Receipt } from '../chain/receipt.ts';
import type { Executor, HeldStateView } from '../executor/interface.ts';
import type { ConfirmedBlock, FeedEvent, PreconfirmedFlashblock } from '../feed/interface.ts';
import { andThen } from '../primitives/awaitable.ts';
import { type Awaitable, type Hex, ZERO_HASH } from '../primitives/hex.ts';
import type { BlockLogs, LogQuery } from '../store/interface.ts';
import { createMatcher } from '../store/match.ts';
import type { BlockParts } from './parts.ts';
import { type Checkpoint, forEachLog, RenderedBlock } from './rendered.ts';

/** A pre-confirmed block as it is after one flashblock. The next one makes another of it. */
export class PreconfirmedBlock implements BlockLogs {
  readonly number: number;
  /** What its logs and receipts have as their block hash (B6): it has none yet. */
  readonly hash = ZERO_HASH;
  readonly timestamp: number;
  readonly timestampMs: number | undefined;
  readonly parentHash: Hex;
  /** What it would have as its hash if it were sealed now; undefined where its builder does not say it. */
  readonly hashSoFar: Hex | undefined;
  /** Its last flashblock. */
  readonly index: number;
  readonly payloadId: string;
  /** All of them so far. */
  readonly flashblocks: readonly PreconfirmedFlashblock[];
  readonly rendered: RenderedBlock;
  readonly #logs: readonly Log[];
  readonly #receipts: readonly Receipt[];

  private constructor(
    flashblock: PreconfirmedFlashblock,
    before: PreconfirmedBlock | undefined,
    logs: readonly Log[],
    receipts: readonly Receipt[],
  ) {
    const { outcome, index, payloadId } = flashblock;
    this.number = outcome.number;
    this.timestamp = outcome.timestamp;
    // Only the first flashblock has the transaction that says it.
    this.timestampMs = before === undefined ? outcome.timestampMs : before.timestampMs;
    this.parentHash = outcome.parentHash;
    this.hashSoFar = outcome.hash === ZERO_HASH ? undefined : outcome.hash;
    this.index = index;
    this.payloadId = payloadId;
    this.flashblocks = [...(before?.flashblocks ?? []), flashblock];
    this.#logs = logs;
    this.#receipts = receipts;
    this.rendered = before === undefined ? new RenderedBlock(this) : before.rendered.grown(this);
  }

  /** The block that a flashblock begins. */
  static begin(flashblock: PreconfirmedFlashblock): PreconfirmedBlock {
    const { logs, receipts } = flashblock.outcome;
    return new PreconfirmedBlock(flashblock, undefined, logs, receipts);
  }

  /** The block with its next flashblock; undefined when it is another one's. */
  extended(flashblock: PreconfirmedFlashblock): PreconfirmedBlock | undefined {
    const { outcome, payloadId, index, firstTransaction } = flashblock;
    if (payloadId !== this.payloadId || outcome.number !== this.number || index !== this.index + 1) {
      return undefined;
    }
    const logs = outcome.logs.map((log) => ({
      ...log,
      transactionIndex: firstTransaction + log.transactionIndex,
    }));
    return new PreconfirmedBlock(
      flashblock,
      this,
      this.#logs.concat(logs),
      this.#receipts.concat(outcome.receipts),
    );
  }

  /** Whether a sealed block is this one: by its hash or, where that is not known, by all of its header but the roots of state. */
  isSealedAs({ hash, outcome }: ConfirmedBlock): boolean {
    if (this.hashSoFar !== undefined) return this.hashSoFar === hash;
    return isSameButStateRoots(this.header, outcome.header);
  }

  /** RLP of its header so far. */
  get header(): Uint8Array {
    return this.flashblocks.at(-1)?.outcome.header ?? new Uint8Array();
  }

  /** Of all its transactions so far. */
  get receipts(): readonly Receipt[] {
    return this.#receipts;
  }

  /** What it consists of so far. */
  get parts(): BlockParts {
    const { number, hash } = this;
    return { number, hash, isSealed: false, header: () => this.header, receipts: () => this.#receipts };
  }

  /** How many transactions it has so far. */
  get transactions(): number {
    return this.#receipts.length;
  }

  get length(): number {
    return this.#logs.length;
  }

  log(index: number): Log {
    const log = this.#logs[index];
    if (log === undefined) throw new RangeError(`no log ${index} in a block of ${this.#logs.length}`);
    return log;
  }

  transactionHash(transactionIndex: number): Uint8Array {
    const receipt = this.#receipts[transactionIndex];
    if (receipt === undefined) throw new RangeError(`no transaction ${transactionIndex}`);
    return receipt.transactionHash;
  }

  /** The JSON array of its receipts. */
  receiptsJson(): Awaitable<Buffer> {
    return this.rendered.receipts ?? this.rendered.renderReceipts({ receipts: this.#receipts, logs: this });
  }

  /** The JSON of one of its receipts; undefined where there is none of that number. */
  receiptJson(index: number): string | undefined {
    return this.rendered.receipt({ receipts: this.#receipts, logs: this }, index);
  }

  /** The index of the transaction with this hash; undefined where it has none. */
  indexOf(hash: Uint8Array): number | undefined {
    const index = this.#receipts.findIndex(
      ({ transactionHash }) => Buffer.compare(transactionHash, hash) === 0,
    );
    return index < 0 ? undefined : index;
  }

  /** Indexes of the logs that answer `query`, ascending. */
  matching(query: LogQuery, checkpoint?: Checkpoint): Awaitable<readonly number[]> {
    const matches = createMatcher(query);
    const indexes: number[] = [];
    const test = (index: number): void => {
      if (matches(this.log(index))) indexes.push(index);
    };
    return andThen(forEachLog(this, test, checkpoint), () => indexes);
  }
}

/** Pre-confirmed blocks, ascending, with one more flashblock: what it does not stand on is gone. */
export function withFlashblock(
  blocks: readonly PreconfirmedBlock[],
  flashblock: PreconfirmedFlashblock,
): readonly PreconfirmedBlock[] {
  const { number } = flashblock.outcome;
  const at = (place: number): PreconfirmedBlock | undefined => blocks.find((block) => block.number === place);
  const block =
    flashblock.index === 0 ? PreconfirmedBlock.begin(flashblock) : at(number)?.extended(flashblock);
  // Of a block whose beginning nobody told us of: nothing can be said of it before the next one begins.
  if (block === undefined) return [];
  // Whether those below are confirmed by now is for the store to say: what it was executed on may be on its way there.
  const below = at(number - 1);
  const isLinked = below !== undefined && (below.hashSoFar ?? block.parentHash) === block.parentHash;
  return [...(isLinked ? blocks.filter((other) => other.number < number) : []), block];
}

/** Those of them that stand on a confirmed head. */
export function standingOn(
  blocks: readonly PreconfirmedBlock[],
  head: BlockRef,
): readonly PreconfirmedBlock[] {
  const above = blocks.filter(({ number }) => number > head.number);
  const [lowest] = above;
  return lowest?.number === head.number + 1 && lowest.parentHash === head.hash ? above : [];
}

/** What is pre-confirmed on top of one confirmed head. */
export interface Pending {
  /** Ascending from the block above the head; the last is the newest. */
  readonly blocks: readonly [PreconfirmedBlock, ...PreconfirmedBlock[]];
  readonly newest: PreconfirmedBlock;
  /** The state after the newest flashblock, in the context of its block. */
  readonly view: HeldStateView;
}

/** The pre-confirmed blocks that the feed has told of, and the state after the last of them. */
export class PreconfirmedChain {
  readonly #executor: Pick<Executor, 'preconfirmedView'>;
  #blocks: readonly PreconfirmedBlock[] = [];
  #view: HeldStateView | undefined;

  constructor(executor: Pick<Executor, 'preconfirmedView'>) {
    this.#executor = executor;
  }

  /** Takes the next event of the feed. */
  apply(event: Extract<FeedEvent, { kind: 'preconfirmed' | 'dropped' | 'anchored' }>): void {
    switch (event.kind) {
      case 'preconfirmed':
        this.#blocks = withFlashblock(this.#blocks, event.flashblock);
        this.#open(event.flashblock.version);
        break;
      case 'dropped':
        this.#blocks = this.#blocks.filter(({ number }) => number < event.from);
        this.#open(event.version);
        break;
      case 'anchored':
        this.#blocks = [];
        this.#open(undefined);
    }
  }

  /** Forgets blocks that are confirmed. */
  settle(head: number): void {
    this.#blocks = this.#blocks.filter(({ number }) => number > head);
  }

  /** What of it stands on a head; undefined when nothing does. */
  on(head: BlockRef): Pending | undefined {
    const [first, ...others] = standingOn(this.#blocks, head);
    if (first === undefined || this.#view === undefined) return undefined;
    return { blocks: [first, ...others], newest: others.at(-1) ?? first, view: this.#view };
  }

  /** A version that is gone has a newer one, which the feed is about to tell of. */
  #open(version: number | undefined): void {
    const [lowest] = this.#blocks;
    const before = this.#view;
    this.#view =
      version === undefined || lowest === undefined
        ? undefined
        : this.#executor.preconfirmedView(version, { number: lowest.number - 1, hash: lowest.parentHash });
    // Whoever took the snapshot with it and is not done holds it.
    before?.release();
  }
}
