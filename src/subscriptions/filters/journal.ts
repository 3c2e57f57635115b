import type { Log } from '../../chain/log.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { BlockLogs } from '../../store/interface.ts';
import type { Change, Run } from '../streams/held-stack.ts';
import type { LedgerStep } from '../streams/ledger.ts';
import type { LogChange } from '../streams/log-run.ts';

/** What filters are told of. */
export type FilterKind = 'logs' | 'pendingLogs' | 'blocks' | 'transactions';

/** What one event of the feed has for filters; nothing of a kind that no filter is of. */
export interface JournalEntry {
  readonly position: number;
  readonly logs: LogChange;
  readonly pendingLogs: LogChange;
  readonly blocks: readonly Hex[];
  readonly transactions: readonly Hex[];
  readonly bytes: number;
}

const NOTHING: LogChange = { removed: [], added: [] };
/** What objects cost beside the bytes that they hold, roughly. */
const ENTRY_BYTES = 512;
const LOG_BYTES = 480;
const TOPIC_BYTES = 128;
const HASH_BYTES = 96;

/**
 * What the feed has told of late, for filters that have not asked for it yet. Logs are copied out of their blocks, which
 * are many times larger. What there is no room for is lost, the oldest first, and whoever has not been told of it knows.
 */
export class Journal {
  readonly #maxBytes: number;
  readonly #entries: JournalEntry[] = [];
  #bytes = 0;
  #lostUpTo = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether everything after a position is held. */
  isWholeAfter(position: number): boolean {
    return position >= this.#lostUpTo;
  }

  /** The first entry after a position. */
  after(position: number): JournalEntry | undefined {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle]?.position ?? 0) > position) high = middle;
      else low = middle + 1;
    }
    return this.#entries[low];
  }

  /** Takes an event, as far as there are filters of its kinds. */
  take(step: LedgerStep, transactions: readonly Hex[], wanted: ReadonlySet<FilterKind>): void {
    const copies = new Copies();
    const entry = {
      position: step.position,
      logs: wanted.has('logs') ? copies.change(step.confirmed) : NOTHING,
      pendingLogs: wanted.has('pendingLogs') ? copies.change(step.pending) : NOTHING,
      blocks: wanted.has('blocks') ? step.added.map(({ block }) => block.hash) : [],
      transactions,
    };
    const hashes = entry.blocks.length + transactions.length;
    if (copies.bytes === 0 && hashes === 0) return;
    const bytes = ENTRY_BYTES + copies.bytes + HASH_BYTES * hashes;
    this.#entries.push({ ...entry, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#drop();
  }

  /** Forgets what every filter has been told of. */
  trim(position: number): void {
    while ((this.#entries[0]?.position ?? Number.POSITIVE_INFINITY) <= position) this.#drop();
  }

  /** What there was up to a position cannot be told any more. */
  lose(position: number): void {
    this.trim(position);
    this.#lostUpTo = position;
  }

  #drop(): void {
    const entry = this.#entries.shift();
    if (entry === undefined) return;
    this.#bytes -= entry.bytes;
    this.#lostUpTo = entry.position;
  }
}

/** Copies of some logs of blocks; both views of an event often have the same ones. */
class Copies {
  bytes = 0;
  readonly #logs = new Map<Log, Log>();
  readonly #blocks = new Map<BlockLogs, KeptLogs>();

  change({ removed, added }: LogChange): LogChange {
    return { removed: this.#runs(removed), added: this.#runs(added) };
  }

  #runs(runs: Change<BlockLogs>['added']): readonly Run<BlockLogs>[] {
    return runs
      .filter(({ block, first, end }) => Math.min(end, block.length) > first)
      .map((run) => ({ ...run, block: this.#block(run) }));
  }

  #block({ block, first, end }: Run<BlockLogs>): KeptLogs {
    const kept = this.#blocks.get(block) ?? new KeptLogs(block);
    this.#blocks.set(block, kept);
    for (let index = first; index < Math.min(end, block.length); index++) {
      const log = block.log(index);
      kept.keep(index, this.#copy(log), block.transactionHash(log.transactionIndex));
    }
    return kept;
  }

  #copy(log: Log): Log {
    const known = this.#logs.get(log);
    if (known !== undefined) return known;
    const { transactionIndex, address, topics, data } = log;
    const copy = { transactionIndex, address: own(address), topics: topics.map(own), data: own(data) };
    this.#logs.set(log, copy);
    this.bytes += LOG_BYTES + TOPIC_BYTES * topics.length + data.length;
    return copy;
  }
}

/** Some logs of a block, without the block. */
class KeptLogs implements BlockLogs {
  readonly number: number;
  readonly hash: Hex;
  readonly timestamp: number;
  readonly timestampMs: number | undefined;
  readonly length: number;
  readonly #logs = new Map<number, Log>();
  readonly #hashes = new Map<number, Uint8Array>();

  constructor({ number, hash, timestamp, timestampMs, length }: BlockLogs) {
    this.number = number;
    this.hash = hash;
    this.timestamp = timestamp;
    this.timestampMs = timestampMs;
    this.length = length;
  }

  keep(index: number, log: Log, transactionHash: Uint8Array): void {
    this.#logs.set(index, log);
    if (!this.#hashes.has(log.transactionIndex)) this.#hashes.set(log.transactionIndex, own(transactionHash));
  }

  log(index: number): Log {
    return held(this.#logs.get(index), index);
  }

  transactionHash(transactionIndex: number): Uint8Array {
    return held(this.#hashes.get(transactionIndex), transactionIndex);
  }
}

function held<T>(item: T | undefined, index: number): T {
  if (item === undefined) throw new RangeError(`log or transaction ${index} is not kept`);
  return item;
}

/** Bytes of their own: a view would keep all that it is a view of. */
function own(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes);
}
