import { LRUCache } from 'lru-cache';
import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import { describeKey, keyText, type StateKey } from '../../chain/state-key.ts';
import type { LoadContext } from '../../executor/interface.ts';
import { isBareAccount } from '../../executor/missing.ts';
import { OverloadedError, StateUnavailableError } from '../../primitives/errors.ts';
import { toHex } from '../../primitives/hex.ts';
import { SingleFlight, whenAllAbort } from '../../primitives/single-flight.ts';
import { StoreError } from '../../store/error.ts';
import type { Marks, Pin, Store } from '../../store/interface.ts';
import { type BlockReads, toPins } from './block-reads.ts';
import type { StateReader, UpstreamValue } from './reader.ts';
import { overwrittenBy, WaitingPins, type WaitingPinsOptions } from './waiting-pins.ts';

export interface PinnedStateOptions extends WaitingPinsOptions {
  /** Code kept for state below the anchor, which is never stored. */
  readonly archiveCodeBytes: number;
  /** Whether others read the store, who hear of blocks before those are written: code that these name has to be there by then. */
  readonly isShared?: boolean;
}

export interface PinnedStateModules {
  readonly store: Pick<Store, 'marks' | 'canonicalHash' | 'loadState' | 'pin'>;
  readonly read: StateReader;
  /** Reads state of any block, where an upstream offers that. */
  readonly readArchive?: StateReader | undefined;
  readonly onFault: (error: unknown) => void;
}

type Values = readonly (Uint8Array | undefined)[];
const NOTHING = new Uint8Array(0);
/** Pins of executions that were not verified, at most; a block asks for some hundred. */
const UNVERIFIED_PINS = 16_384;
const UNKNOWN: UpstreamValue = { value: undefined, upstream: undefined };

/** How keys are read: for a request, which may be given up, or for the node itself. */
interface Reading {
  readonly prefer?: string | undefined;
  readonly request?: LoadContext | undefined;
  /** The block that a request asks about. */
  readonly of?: BlockRef | undefined;
}
const REANCHORED = 'the copy re-anchored meanwhile';

/**
 * The state of a copy that began in the middle of a chain. What the store does not know was written by no block
 * since its anchor, so its value now is its value at every block held: it is read once, for everybody who asks
 * meanwhile, and pinned as of the anchor for ever.
 *
 * What a block needs to be executed is trusted only once that block has been verified: until then it stays apart,
 * and goes with the block if that is refused.
 */
export class PinnedState {
  readonly #modules: PinnedStateModules;
  readonly #isShared: boolean;
  readonly #pins: WaitingPins;
  /** Keys on their way for blocks; requests may wait for them too. */
  #followed = new SingleFlight();
  /** Keys on their way for requests only: what follows the chain never waits for them. */
  #requested = new SingleFlight();
  readonly #archiveCode: LRUCache<string, Uint8Array>;
  /**
   * Accounts and slots that were given to executions which have not been verified, or never will be. The executor knows them from then
   * on, so another block may overwrite them without asking.
   */
  readonly #unverified = new LRUCache<string, Pin>({ max: UNVERIFIED_PINS });
  /** Grows when the copy re-anchors: what was read for the old one is of no use. */
  #generation = 0;
  /** While a fork is replaced, the block that both have in common. */
  #base: BlockRef | undefined;

  constructor(options: PinnedStateOptions, modules: PinnedStateModules) {
    this.#modules = modules;
    this.#isShared = options.isShared ?? false;
    this.#pins = new WaitingPins(options, modules);
    this.#archiveCode = new LRUCache({
      maxSize: options.archiveCodeBytes,
      sizeCalculation: (code) => code.length + 64,
    });
  }

  /** Values as of a block, for serving: from the store, from memory, or from an upstream. */
  async load(
    keys: readonly StateKey[],
    number: number,
    of: BlockRef | undefined,
    request?: LoadContext,
  ): Promise<Values> {
    const marks = await this.#marks();
    if (number < marks.anchor.number) return this.#loadBelowAnchor(keys, of, marks, request);
    const stored = await this.#modules.store.loadState(keys, number, of);
    const known = keys.map((key, index) => stored[index] ?? this.#pins.valueOf(keyText(key)));
    return fill(keys, known, (unknown) => {
      // What is fetched has to be written, and blocks are written first.
      if (request !== undefined && this.#pins.isFull) throw new OverloadedError();
      const keep = (read: readonly StateKey[], fetched: readonly UpstreamValue[]): void =>
        this.#pins.add(read.flatMap((key, index) => toPins(key, fetched[index])));
      return this.#fetch(unknown, number, keep, { request, of });
    });
  }

  /** The same for a block that is being executed, whose findings stay in `reads`. */
  async loadFor(reads: BlockReads, keys: readonly StateKey[], number: number): Promise<Values> {
    reads.generation ??= this.#generation;
    if (reads.generation !== this.#generation) throw new StateUnavailableError(REANCHORED);
    const stored = await this.#modules.store.loadState(keys, number);
    const known = keys.map((key, index) => {
      const text = keyText(key);
      const own = reads.pins.get(text)?.value;
      const held = stored[index] ?? this.#pins.valueOf(text);
      if (held !== undefined && own === undefined) reads.held.set(text, { key, value: held });
      return held ?? own;
    });
    const values = await fill(keys, known, async (unknown) =>
      fill(unknown, await reads.trace(unknown), (rest) =>
        this.#fetch(rest, number, (read, fetched) => reads.add(read, fetched), reads),
      ),
    ).finally(() => this.#noteUnverified(reads));
    await this.#keepCode(reads);
    return values;
  }

  /** Takes in what a block needed, now that it is verified. */
  accept(reads: BlockReads): void {
    // Read for another copy: it says nothing about the anchor of this one.
    if (reads.generation !== undefined && reads.generation !== this.#generation) return;
    this.#pins.add([...reads.pins.values()].filter(({ key }) => key.kind !== 'code'));
    for (const text of reads.pins.keys()) this.#unverified.delete(text);
  }

  /** Reads at this block instead of the head, while the blocks above it are being replaced. */
  readAt(base: BlockRef | undefined): void {
    this.#base = base;
  }

  /** What has to be written together with these blocks, which are verified; `written` forgets it. */
  dueWith(outcomes: readonly Outcome[]): readonly Pin[] {
    if (this.#unverified.size > 0) this.#pins.add(this.#takeUnverified(outcomes));
    return this.#pins.dueWith(outcomes);
  }

  /** Takes what these blocks overwrote and others had asked for: they were executed on it, and verified. */
  #takeUnverified(outcomes: readonly Outcome[]): readonly Pin[] {
    const taken: Pin[] = [];
    for (const [text, pin] of overwrittenBy(outcomes, this.#unverified)) {
      this.#unverified.delete(text);
      if (this.#pins.valueOf(text) === undefined) taken.push(pin);
    }
    return taken;
  }

  /**
   * Keeps code whether or not its block verifies: its hash vouches for it, and the executor, which knows it from now on, will not ask for
   * it again.
   */
  async #keepCode(reads: BlockReads): Promise<void> {
    const codes = reads.takeCodes();
    if (codes.length === 0) return;
    if (!this.#isShared) {
      if (reads.generation === this.#generation) this.#pins.add(codes);
      return;
    }
    try {
      await this.#modules.store.pin((await this.#marks()).anchor, codes);
    } catch (error) {
      if (error instanceof StoreError && error.code === 'conflict')
        throw new StateUnavailableError(REANCHORED);
      throw error;
    }
  }

  #noteUnverified({ pins, generation }: BlockReads): void {
    // What was read for another copy says nothing about the anchor of this one.
    if (generation !== this.#generation) return;
    for (const [text, pin] of pins) if (pin.key.kind !== 'code') this.#unverified.set(text, pin);
  }

  written(pins: readonly Pin[]): void {
    this.#pins.written(pins);
  }

  /** Values that wait to be written, for metrics. */
  get waiting(): number {
    return this.#pins.weight;
  }

  /** Forgets everything as `commit` has the copy begin at another anchor; writes nothing meanwhile. */
  async replace(commit: () => Promise<void>): Promise<void> {
    await this.#pins.replace(async () => {
      await commit();
      this.#generation++;
      this.#followed = new SingleFlight();
      this.#requested = new SingleFlight();
      this.#unverified.clear();
      this.#base = undefined;
    });
  }

  /** Writes what waits. */
  flush(): Promise<void> {
    return this.#pins.flush();
  }

  async #marks(): Promise<Marks> {
    const marks = await this.#modules.store.marks();
    if (marks === undefined) throw new StateUnavailableError('there is no block yet');
    return marks;
  }

  /** Finds out what nothing here knows as of block `number`. */
  async #fetch(
    keys: readonly StateKey[],
    number: number,
    keep: (keys: readonly StateKey[], fetched: readonly UpstreamValue[]) => void,
    reading: Reading,
  ): Promise<Values> {
    const generation = this.#generation;
    const at = this.#base ?? (await this.#readingBlock(reading.of));
    const later = await this.#modules.store.loadState(keys, at.number, at);
    const untouched = keys.filter((_, index) => later[index] === undefined);
    const [fetched, older] = await Promise.all([
      Promise.all(this.#read(untouched, at, reading)),
      Promise.all(
        keys.map(async (key, index) =>
          later[index] === undefined ? undefined : this.#beforeWritten(key, number, reading.request),
        ),
      ),
    ]);
    if (generation !== this.#generation) throw new StateUnavailableError(REANCHORED);
    keep(untouched, fetched);
    const read = fetched.values();
    return older.map((value) => value ?? read.next().value?.value);
  }

  /** Where upstreams are asked: at the head, but for older blocks not past one that may have written what nothing here knows of. */
  async #readingBlock(of: BlockRef | undefined): Promise<BlockRef> {
    const { head, byDiffs } = await this.#marks();
    if (of === undefined || byDiffs === undefined || of.number >= byDiffs.number) return head;
    const hash = await this.#modules.store.canonicalHash(byDiffs.number - 1);
    return hash === undefined ? head : { number: byDiffs.number - 1, hash };
  }

  /** Reads keys in one go; those that somebody else is reading already are waited for. */
  #read(keys: readonly StateKey[], at: BlockRef, { prefer, request }: Reading): Promise<UpstreamValue>[] {
    const fresh: { readonly key: StateKey; readonly unwanted: AbortSignal }[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<readonly UpstreamValue[]>();
    const reads = keys.map((key) => {
      const text = keyText(key);
      const shared = request === undefined || this.#followed.has(text) ? this.#followed : this.#requested;
      return shared.run(text, request?.signal, async (unwanted) => {
        const index = fresh.push({ key, unwanted }) - 1;
        return (await promise)[index] ?? UNKNOWN;
      });
    });
    if (fresh.length > 0) {
      const signal = whenAllAbort(fresh.map(({ unwanted }) => unwanted));
      const options = { prefer, signal, forRequest: request !== undefined };
      this.#modules
        .read(
          fresh.map(({ key }) => key),
          at,
          options,
        )
        .then(resolve, reject);
    }
    return reads;
  }

  /**
   * What is known as of the head, and was not known as of an older block. A block that has read and written it since was
   * stored with what it read; else it was written without having been read before.
   */
  async #beforeWritten(key: StateKey, number: number, request: LoadContext | undefined): Promise<Uint8Array> {
    const [stored] = await this.#modules.store.loadState([key], number);
    return stored ?? this.#pins.valueOf(keyText(key)) ?? this.#beforeCreation(key, number, request);
  }

  /**
   * A slot that was written and never read is one of a contract that was created since, whose storage is known to be
   * empty without looking. Before, it was empty too. The other way to get here is a contract that was destroyed, with
   * slots nobody had read: what they held is lost.
   */
  async #beforeCreation(
    key: StateKey,
    number: number,
    request: LoadContext | undefined,
  ): Promise<Uint8Array> {
    if (key.kind === 'slot') {
      const { address } = key;
      const [account] = await this.load([{ kind: 'account', address }], number, undefined, request);
      if (account !== undefined && isBareAccount(account)) return NOTHING;
    }
    throw new StateUnavailableError(`${describeKey(key)} was overwritten before anybody read it`);
  }

  async #loadBelowAnchor(
    keys: readonly StateKey[],
    of: BlockRef | undefined,
    { anchor }: Marks,
    request: LoadContext | undefined,
  ): Promise<Values> {
    const { readArchive } = this.#modules;
    if (readArchive === undefined || of === undefined) {
      throw new StateUnavailableError(`the lowest block with state is ${anchor.number}`);
    }
    const codes = keys.map((key) =>
      key.kind === 'code' ? this.#archiveCode.get(toHex(key.hash)) : undefined,
    );
    return fill(keys, codes, async (unknown) => {
      const { signal } = request ?? {};
      const reads = await readArchive(unknown, of, { signal, forRequest: request !== undefined });
      for (const { code } of reads)
        if (code !== undefined) this.#archiveCode.set(toHex(code.hash), code.bytes);
      return reads.map(({ value }) => value);
    });
  }
}

/** Asks `find` for the values that are missing, all at once. */
async function fill(
  keys: readonly StateKey[],
  values: Values,
  find: (unknown: readonly StateKey[]) => Promise<Values>,
): Promise<Values> {
  const gaps = keys.flatMap((key, index) => (values[index] === undefined ? [{ key, index }] : []));
  if (gaps.length === 0) return values;
  const filled = keys.map((_, index) => values[index]);
  const found = await find(gaps.map(({ key }) => key));
  for (const [place, { index }] of gaps.entries()) filled[index] = found[place];
  return filled;
}
