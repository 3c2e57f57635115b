import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import { StoreError } from '../error.ts';
import type { BlockLogs, BlockReceipts, LogMatch, LogQuery, Marks, StateEntry, Store } from '../interface.ts';

export interface MemoryStoreOptions {
  /** Blocks that can be taken off the head. */
  readonly undoWindow?: number;
}

/**
 * A store that keeps outcomes in a list and finds everything by looking through it. Deliberately naive and sharing
 * no code with the other drivers: it is their oracle, and good enough for tests and short chains.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options.undoWindow ?? 256);
}

class MemoryStore implements Store {
  readonly #undoWindow: number;
  readonly #meta = new Map<string, string>();
  #chain: Outcome[] = [];
  #safe: BlockRef | undefined;
  #finalized: BlockRef | undefined;
  /** The highest block that was ever deeper than the undo window. */
  #settled = -1;

  constructor(undoWindow: number) {
    this.#undoWindow = undoWindow;
  }

  getMeta(name: string): string | undefined {
    return this.#meta.get(name);
  }

  async setMeta(name: string, value: string): Promise<void> {
    this.#meta.set(name, value);
  }

  async append(outcomes: readonly Outcome[]): Promise<void> {
    const grown = [...this.#chain];
    for (const outcome of outcomes) {
      const parent = grown.at(-1);
      if (parent && (outcome.number !== parent.number + 1 || outcome.parentHash !== parent.hash)) {
        throw new StoreError(
          'conflict',
          `block ${outcome.number} does not follow ${parent.number} ${parent.hash}`,
        );
      }
      if (outcome.logs.some((log) => outcome.receipts[log.transactionIndex] === undefined)) {
        throw new StoreError('conflict', `block ${outcome.number} has a log without a receipt`);
      }
      grown.push(outcome);
    }
    this.#chain = grown;
    const head = grown.at(-1);
    if (head) this.#settled = Math.max(this.#settled, head.number - this.#undoWindow);
  }

  async revertTo(number: number): Promise<void> {
    const marks = this.marks();
    const undoable =
      marks && number >= marks.anchor.number && number <= marks.head.number && number >= this.#settled;
    if (!undoable) throw new StoreError('outOfRange', `cannot revert to block ${number}`);
    this.#chain = this.#chain.filter((outcome) => outcome.number <= number);
    const head = refOf(this.#outcome(number));
    if (marks.safe.number > number) this.#safe = head;
    if (marks.finalized.number > number) this.#finalized = head;
  }

  async mark(moved: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void> {
    for (const ref of [moved.safe, moved.finalized]) {
      if (ref && this.canonicalHash(ref.number) !== ref.hash) {
        throw new StoreError('conflict', `cannot mark block ${ref.number} ${ref.hash}: it is not canonical`);
      }
    }
    this.#safe = moved.safe ?? this.#safe;
    this.#finalized = moved.finalized ?? this.#finalized;
  }

  marks(): Marks | undefined {
    const first = this.#chain[0];
    const last = this.#chain.at(-1);
    if (!first || !last) return undefined;
    const anchor = refOf(first);
    return { anchor, head: refOf(last), safe: this.#safe ?? anchor, finalized: this.#finalized ?? anchor };
  }

  canonicalHash(number: number): Hex | undefined {
    return this.#chain.find((outcome) => outcome.number === number)?.hash;
  }

  numberOf(hash: Hex): number | undefined {
    return this.#chain.find((outcome) => outcome.hash === hash)?.number;
  }

  header(ref: BlockRef): Uint8Array | undefined {
    return this.#find(ref)?.header;
  }

  block(ref: BlockRef): Uint8Array | undefined {
    return this.#find(ref)?.block;
  }

  receipts(ref: BlockRef): BlockReceipts | undefined {
    const outcome = this.#find(ref);
    return outcome && { receipts: outcome.receipts, logs: logsOf(outcome) };
  }

  blockLogs(ref: BlockRef): BlockLogs | undefined {
    const outcome = this.#find(ref);
    return outcome && logsOf(outcome);
  }

  diffBytes(number: number): Uint8Array | undefined {
    if (number <= this.#settled) return undefined;
    return this.#chain.find((outcome) => outcome.number === number)?.diffBytes;
  }

  async *findLogs(query: LogQuery, from: number, to: number): AsyncGenerator<LogMatch, void, undefined> {
    if (from > to) return;
    const marks = this.marks();
    if (!marks || from < marks.anchor.number || to > marks.head.number) {
      throw new StoreError('outOfRange', `blocks ${from} to ${to} not available`);
    }
    // `#chain` is replaced, never changed: this list is one snapshot.
    for (const outcome of this.#chain) {
      if (outcome.number < from || outcome.number > to) continue;
      const indexes = outcome.logs.flatMap((log, index) => {
        const addressFits = query.addresses.length === 0 || includes(query.addresses, log.address);
        const topicsFit = query.topics.every((values, position) => {
          const topic = log.topics[position];
          return topic !== undefined && (values.length === 0 || includes(values, topic));
        });
        return addressFits && topicsFit ? [index] : [];
      });
      if (indexes.length > 0) yield { block: logsOf(outcome), indexes };
    }
  }

  loadState(keys: readonly StateKey[], number: number): (Uint8Array | undefined)[] {
    this.#outcome(number);
    const absent = this.#chain[0]?.number === 0 ? new Uint8Array(0) : undefined;
    const newestFirst = this.#chain.filter((outcome) => outcome.number <= number).reverse();
    return keys.map((key) => valueIn(newestFirst, this.#chain, key) ?? absent);
  }

  async *scanState(number: number): AsyncGenerator<StateEntry, void, undefined> {
    this.#outcome(number);
    const keys = new Map<string, StateKey & { readonly kind: 'account' | 'slot' }>();
    for (const { diff } of this.#chain) {
      for (const [address] of diff.accounts) keys.set(toHex(address), { kind: 'account', address });
      for (const [address, slot] of diff.slots) {
        keys.set(toHex(address) + toHex(slot).slice(2), { kind: 'slot', address, slot });
      }
    }
    for (const [, key] of [...keys].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const [value] = this.loadState([key], number);
      if (value !== undefined && value.length > 0) yield { ...key, value };
    }
  }

  async close(): Promise<void> {}

  #find(ref: BlockRef): Outcome | undefined {
    return this.#chain.find((outcome) => outcome.number === ref.number && outcome.hash === ref.hash);
  }

  #outcome(number: number): Outcome {
    const outcome = this.#chain.find((candidate) => candidate.number === number);
    if (!outcome) throw new StoreError('outOfRange', `block ${number} not available`);
    return outcome;
  }
}

function valueIn(
  newestFirst: readonly Outcome[],
  chain: readonly Outcome[],
  key: StateKey,
): Uint8Array | undefined {
  if (key.kind === 'code') {
    // Code is named by its hash: when it appeared does not matter.
    for (const { diff } of chain)
      for (const [hash, code] of diff.codes) if (same(hash, key.hash)) return code;
    return undefined;
  }
  for (const { number, hash, diff } of newestFirst) {
    if (key.kind === 'blockHash') {
      if (number === key.number) return fromHex(hash);
    } else if (key.kind === 'account') {
      for (const [address, value] of diff.accounts) if (same(address, key.address)) return value;
    } else {
      for (const [address, slot, value] of diff.slots) {
        if (same(address, key.address) && same(slot, key.slot)) return value;
      }
      if (includes(diff.wiped, key.address)) return new Uint8Array(0);
    }
  }
  return undefined;
}

function logsOf(outcome: Outcome): BlockLogs {
  const { number, hash, timestamp, logs, receipts } = outcome;
  return {
    number,
    hash,
    timestamp,
    length: logs.length,
    log(index) {
      const log = logs[index];
      if (!log) throw new RangeError(`no log ${index} in block ${number}`);
      return log;
    },
    transactionHash(transactionIndex) {
      const receipt = receipts[transactionIndex];
      if (!receipt) throw new RangeError(`no transaction ${transactionIndex} in block ${number}`);
      return receipt.transactionHash;
    },
  };
}

function refOf({ number, hash }: Outcome): BlockRef {
  return { number, hash };
}

function includes(values: readonly Uint8Array[], value: Uint8Array): boolean {
  return values.some((candidate) => same(candidate, value));
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
