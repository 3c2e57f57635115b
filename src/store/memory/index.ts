import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { type Hex, toHex } from '../../primitives/hex.ts';
import { Pace } from '../../primitives/pace.ts';
import { StoreError } from '../error.ts';
import type {
  AppendOptions,
  BlockLogs,
  BlockReceipts,
  LogMatch,
  LogQuery,
  Marks,
  Pin,
  StateEntry,
  StateVersion,
  Store,
  TransactionPlace,
} from '../interface.ts';
import { includes, logsOf, refOf, valueIn, withoutDiff } from './outcomes.ts';
import { versionsIn } from './versions.ts';

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
  /** Every executed block; pruned ones are hidden, but still give their part of the state. */
  #chain: readonly Outcome[] = [];
  /** Prepended blocks below the first of `#chain`, without their diffs; pruned ones are hidden. */
  #older: readonly Outcome[] = [];
  #lowest = 0;
  #anchor = 0;
  #partial = false;
  #pins = new Map<string, Pin>();
  #safe: BlockRef | undefined;
  #finalized: BlockRef | undefined;
  #byDiffs: BlockRef | undefined;
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

  async append(outcomes: readonly Outcome[], options: AppendOptions = {}): Promise<void> {
    if (options.reanchor) return this.#reanchor(outcomes, options);
    if (options.onto !== undefined) this.#checkRevert(options.onto);
    const onto = options.onto ?? Number.POSITIVE_INFINITY;
    const kept = this.#chain.filter(({ number }) => number <= onto);
    checkLinks([...kept.slice(-1), ...outcomes]);
    const first = outcomes[0];
    if (options.pins !== undefined && this.#chain.length === 0 && first === undefined) {
      throw new StoreError('conflict', 'an empty store has no anchor to pin values of');
    }
    if (options.onto !== undefined) await this.revertTo(options.onto);
    if (this.#chain.length === 0 && first !== undefined) {
      this.#lowest = first.number;
      this.#anchor = first.number;
      this.#partial = options.partial ?? false;
    }
    this.#chain = [...kept, ...outcomes];
    if (first !== undefined) this.#byDiffs ??= options.byDiffs;
    const head = outcomes.at(-1);
    if (head) this.#settled = Math.max(this.#settled, head.number - (options.undo ?? this.#undoWindow));
    this.#pin(options.pins ?? []);
  }

  async prepend(outcomes: readonly Outcome[]): Promise<void> {
    const lowest = this.#held()[0];
    if (!lowest) throw new StoreError('conflict', 'cannot prepend to an empty store');
    checkLinks([...outcomes, lowest]);
    const executed = this.#chain[0]?.number ?? 0;
    const older = outcomes.filter(({ number }) => number < executed).map(withoutDiff);
    const again = new Set(older.map(({ number }) => number));
    this.#older = [...this.#older.filter(({ number }) => !again.has(number)), ...older].sort(
      (a, b) => a.number - b.number,
    );
    this.#lowest = outcomes[0]?.number ?? this.#lowest;
  }

  async pin(anchor: BlockRef, pins: readonly Pin[]): Promise<void> {
    const marks = this.marks();
    if (marks?.anchor.number !== anchor.number || marks.anchor.hash !== anchor.hash) {
      throw new StoreError('conflict', `block ${anchor.number} ${anchor.hash} is not the anchor`);
    }
    this.#pin(pins);
  }

  async revertTo(number: number): Promise<void> {
    const marks = this.#checkRevert(number);
    this.#chain = this.#chain.filter((outcome) => outcome.number <= number);
    const head = refOf(this.#outcome(number));
    if (marks.safe && marks.safe.number > number) this.#safe = head;
    if (this.#byDiffs && this.#byDiffs.number > number) this.#byDiffs = undefined;
  }

  async prune(below: number): Promise<boolean> {
    if (below > (this.undoFloor() ?? Number.NEGATIVE_INFINITY)) {
      throw new StoreError('outOfRange', `cannot prune up to block ${below}: it can still be reverted`);
    }
    this.#lowest = Math.max(this.#lowest, below);
    this.#anchor = Math.max(this.#anchor, below);
    const lowest = refOf(this.#outcome(this.#lowest));
    if (this.#safe && this.#safe.number < lowest.number) this.#safe = undefined;
    if (this.#finalized && this.#finalized.number < lowest.number) this.#finalized = undefined;
    return false;
  }

  async mark(moved: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void> {
    for (const name of ['safe', 'finalized'] as const) {
      const ref = moved[name];
      if (ref && this.canonicalHash(ref.number) !== ref.hash) {
        throw new StoreError('conflict', `cannot mark block ${ref.number} ${ref.hash}: it is not canonical`);
      }
      const before = this.marks()?.[name];
      if (ref && before && ref.number < before.number) {
        throw new StoreError('conflict', `${name} is block ${before.number} and does not go back`);
      }
    }
    this.#finalized = moved.finalized ?? this.#finalized;
    this.#safe = moved.safe ?? this.#safe;
    if (this.#finalized && this.#finalized.number > (this.#safe?.number ?? -1)) this.#safe = this.#finalized;
  }

  marks(): Marks | undefined {
    const head = this.#chain.at(-1);
    if (!head) return undefined;
    return {
      lowest: refOf(this.#outcome(this.#lowest)),
      anchor: refOf(this.#outcome(this.#anchor)),
      head: refOf(head),
      safe: this.#safe,
      finalized: this.#finalized,
      ...(this.#byDiffs && { byDiffs: this.#byDiffs }),
    };
  }

  canonicalHash(number: number): Hex | undefined {
    return this.#held().find((outcome) => outcome.number === number)?.hash;
  }

  numberOf(hash: Hex): number | undefined {
    return this.#held().find((outcome) => outcome.hash === hash)?.number;
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

  transaction(hash: Hex): TransactionPlace | undefined {
    for (const outcome of this.#held()) {
      const index = outcome.receipts.findIndex(({ transactionHash }) => toHex(transactionHash) === hash);
      if (index >= 0) return { ...refOf(outcome), index };
    }
    return undefined;
  }

  transactionsFrom(): number | undefined {
    return this.marks()?.lowest.number;
  }

  async indexTransactions(): Promise<boolean> {
    return false;
  }

  undoFloor(): number | undefined {
    const marks = this.marks();
    return marks && Math.min(marks.head.number, Math.max(marks.anchor.number, this.#settled));
  }

  diffBytes(number: number): Uint8Array | undefined {
    if (number <= this.#settled) return undefined;
    return this.#chain.find((outcome) => outcome.number === number)?.diffBytes;
  }

  async *findLogs(
    query: LogQuery,
    from: number,
    to: number,
    checkpoint: () => void = () => {},
  ): AsyncGenerator<LogMatch, void, undefined> {
    if (from > to) return;
    const marks = this.marks();
    if (!marks || from < marks.lowest.number || to > marks.head.number) {
      throw new StoreError('outOfRange', `blocks ${from} to ${to} not available`);
    }
    const pace = new Pace();
    // A list of its own: this is one snapshot.
    for (const outcome of this.#held()) {
      if (outcome.number < from || outcome.number > to) continue;
      if (pace.spend(outcome.logs.length)) {
        await pace.rest();
        checkpoint();
      }
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

  loadState(keys: readonly StateKey[], number: number, of?: BlockRef): (Uint8Array | undefined)[] {
    this.#checkState(number);
    if (of && this.canonicalHash(of.number) !== of.hash) {
      throw new StoreError('reorganised', `block ${of.number} ${of.hash} is not canonical`);
    }
    const newestFirst = [...this.#older, ...this.#chain].filter((block) => block.number <= number).reverse();
    return keys.map((key) => {
      const known = valueIn(newestFirst, this.#chain, key) ?? this.#pins.get(nameOf(key))?.value;
      if (known !== undefined) return known;
      if (key.kind === 'blockHash' && key.number < this.#lowest) return undefined;
      return this.#partial ? undefined : new Uint8Array(0);
    });
  }

  isComplete(): boolean {
    return this.marks() !== undefined && !this.#partial;
  }

  async *scanState(number: number): AsyncGenerator<StateEntry, void, undefined> {
    this.#checkState(number);
    const keys = new Map<string, StateKey>([...this.#pins].map(([name, { key }]) => [name, key]));
    const add = (key: StateKey): unknown => keys.set(nameOf(key), key);
    for (const { diff } of this.#chain) {
      for (const [address] of diff.accounts) add({ kind: 'account', address });
      for (const [address, slot] of diff.slots) add({ kind: 'slot', address, slot });
    }
    for (const [, key] of [...keys].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (key.kind !== 'account' && key.kind !== 'slot') continue;
      const [value] = this.loadState([key], number);
      if (value !== undefined && value.length > 0) yield { ...key, value };
    }
  }

  async *scanVersions(from: number, to: number): AsyncGenerator<StateVersion, void, undefined> {
    this.#checkState(from);
    this.#checkState(to);
    yield* versionsIn(this.#chain, [...this.#pins.values()], { from, to, partial: this.#partial });
  }

  async close(): Promise<void> {}

  /** As an append to an empty store that keeps its texts; nothing changes when that is refused. */
  async #reanchor(outcomes: readonly Outcome[], options: AppendOptions): Promise<void> {
    if (this.#lowest < this.#anchor) {
      throw new StoreError('conflict', `history from block ${this.#lowest} on would be lost`);
    }
    const fresh = new MemoryStore(this.#undoWindow);
    await fresh.append(outcomes, { ...options, reanchor: false });
    this.#chain = fresh.#chain;
    this.#older = [];
    this.#lowest = fresh.#lowest;
    this.#anchor = fresh.#anchor;
    this.#partial = fresh.#partial;
    this.#pins = fresh.#pins;
    this.#safe = undefined;
    this.#finalized = undefined;
    this.#byDiffs = fresh.#byDiffs;
    this.#settled = fresh.#settled;
  }

  /** The blocks that can be seen, ascending. */
  #held(): Outcome[] {
    return [...this.#older, ...this.#chain].filter(({ number }) => number >= this.#lowest);
  }

  #find(ref: BlockRef): Outcome | undefined {
    return this.#held().find((outcome) => outcome.number === ref.number && outcome.hash === ref.hash);
  }

  #outcome(number: number): Outcome {
    const outcome = this.#held().find((candidate) => candidate.number === number);
    if (!outcome) throw new StoreError('outOfRange', `block ${number} not available`);
    return outcome;
  }

  #checkState(number: number): void {
    this.#outcome(number);
    if (number < this.#anchor) throw new StoreError('outOfRange', `state of block ${number} not available`);
  }

  #checkRevert(number: number): Marks {
    const marks = this.marks();
    const floor = Math.max(marks?.anchor.number ?? 0, marks?.finalized?.number ?? 0, this.#settled);
    const undoable = marks && number >= floor && number <= marks.head.number;
    if (!undoable) throw new StoreError('outOfRange', `cannot revert to block ${number}`);
    return marks;
  }

  #pin(pins: readonly Pin[]): void {
    for (const pin of pins) {
      // Code may be known from a block that is reverted later.
      const known = this.#partial && pin.key.kind === 'code' ? [] : this.loadState([pin.key], this.#anchor);
      const name = nameOf(pin.key);
      if (known[0] === undefined && !this.#pins.has(name)) this.#pins.set(name, pin);
    }
  }
}

/** Refuses blocks that do not follow each other. */
function checkLinks(outcomes: readonly Outcome[]): void {
  let parent: Outcome | undefined;
  for (const outcome of outcomes) {
    if (parent && (outcome.number !== parent.number + 1 || outcome.parentHash !== parent.hash)) {
      throw new StoreError(
        'conflict',
        `block ${outcome.number} does not follow ${parent.number} ${parent.hash}`,
      );
    }
    if (outcome.logs.some((log) => outcome.receipts[log.transactionIndex] === undefined)) {
      throw new StoreError('conflict', `block ${outcome.number} has a log without a receipt`);
    }
    parent = outcome;
  }
}

/** A name for a key; an account's sorts before those of its slots. */
function nameOf(key: StateKey): string {
  switch (key.kind) {
    case 'account':
      return toHex(key.address);
    case 'slot':
      return toHex(key.address) + toHex(key.slot).slice(2);
    case 'code':
      return `code ${toHex(key.hash)}`;
    case 'blockHash':
      return `block ${key.number}`;
  }
}
