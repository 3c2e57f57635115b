import { LRUCache } from 'lru-cache';
import type { BlockRef } from '../chain/outcome.ts';
import { describeKey, keyText, type StateKey } from '../chain/state-key.ts';
import { isBareAccount } from '../executor/missing.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import { toHex } from '../primitives/hex.ts';
import { StoreError } from '../store/error.ts';
import type { Marks, Pin, Store } from '../store/interface.ts';
import type { Learnt, StateReader } from './state-reader.ts';

export interface PinnedStateOptions {
  /** Pins that may wait to be written. */
  readonly maxPins: number;
  /** How long a pin may wait for a block to be written with. */
  readonly pinDelayMs: number;
  /** Code kept for state below the anchor, which is never stored. */
  readonly archiveCodeBytes: number;
}

export interface PinnedStateModules {
  readonly store: Pick<Store, 'marks' | 'loadState' | 'pin'>;
  readonly read: StateReader;
  /** Reads state of any block, where an upstream offers that. */
  readonly readArchive?: StateReader | undefined;
  readonly onFault: (error: unknown) => void;
}

type Values = readonly (Uint8Array | undefined)[];
const NOTHING = new Uint8Array(0);

/**
 * The state of a copy that began in the middle of a chain. What the store does not know was written by no block
 * since its anchor, so its value now is its value at every block held: it is read once, for everybody who asks
 * meanwhile, and pinned as of the anchor for ever.
 *
 * What a block needs to be executed is trusted only once that block has been verified: until then it stays apart,
 * and goes with the block if that is refused.
 */
export class PinnedState {
  readonly #options: PinnedStateOptions;
  readonly #modules: PinnedStateModules;
  /** Learnt, and not written yet. */
  readonly #pins = new Map<string, Pin>();
  readonly #flights = new Map<string, Promise<Learnt>>();
  readonly #archiveCode: LRUCache<string, Uint8Array>;
  /** Grows when the copy begins anew: what was read for the old one is of no use. */
  #generation = 0;
  /** While a fork is replaced, the block that both have in common. */
  #base: BlockRef | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PinnedStateOptions, modules: PinnedStateModules) {
    this.#options = options;
    this.#modules = modules;
    this.#archiveCode = new LRUCache({
      maxSize: options.archiveCodeBytes,
      sizeCalculation: (code) => code.length + 64,
    });
  }

  /** Values as of a block, for serving: from the store, from memory, or from an upstream. */
  async load(keys: readonly StateKey[], number: number, of: BlockRef | undefined): Promise<Values> {
    const marks = await this.#marks();
    if (number < marks.anchor.number) return this.#loadBelowAnchor(keys, of, marks);
    const stored = await this.#modules.store.loadState(keys, number, of);
    const known = keys.map((key, index) => stored[index] ?? this.#pins.get(keyText(key))?.value);
    return fill(keys, known, (unknown) => this.#learn(unknown, number, (pins) => this.#keep(pins)));
  }

  /** The same for a block that is being executed, whose findings stay in `trial`. */
  async loadFor(trial: Trial, keys: readonly StateKey[], number: number): Promise<Values> {
    const stored = await this.#modules.store.loadState(keys, number);
    const known = keys.map((key, index) => {
      const text = keyText(key);
      const own = trial.pins.get(text)?.value;
      const held = stored[index] ?? this.#pins.get(text)?.value;
      if (held !== undefined && own === undefined) trial.held.set(text, { key, value: held });
      return held ?? own;
    });
    return fill(keys, known, async (unknown) =>
      fill(unknown, await trial.trace(unknown), (rest) =>
        this.#learn(rest, number, (pins, learnt) => trial.add(pins, learnt), trial.prefer),
      ),
    );
  }

  /** Takes in what a block needed, now that it is verified. */
  accept(trial: Trial): void {
    for (const [text, pin] of trial.pins) this.#pins.set(text, pin);
    this.#schedule();
  }

  /** Reads at this block instead of the head, while the blocks above it are being replaced. */
  readAt(base: BlockRef | undefined): void {
    this.#base = base;
  }

  /** What waits to be written; `written` forgets it. */
  waiting(): readonly Pin[] {
    return [...this.#pins.values()];
  }

  written(pins: readonly Pin[]): void {
    for (const pin of pins) {
      const text = keyText(pin.key);
      if (this.#pins.get(text) === pin) this.#pins.delete(text);
    }
  }

  /** Forgets everything: the copy begins at another anchor. */
  reset(): void {
    this.#generation++;
    this.#pins.clear();
    this.#flights.clear();
    this.#base = undefined;
  }

  /** Writes what waits. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const pins = this.waiting();
    const marks = await this.#modules.store.marks();
    if (pins.length === 0 || marks === undefined) return;
    const generation = this.#generation;
    await this.#modules.store.pin(marks.anchor, pins);
    if (generation === this.#generation) this.written(pins);
  }

  async #marks(): Promise<Marks> {
    const marks = await this.#modules.store.marks();
    if (marks === undefined) throw new StateUnavailableError('there is no block yet');
    return marks;
  }

  /** Finds out what nothing here knows as of block `number`. */
  async #learn(
    keys: readonly StateKey[],
    number: number,
    keep: (pins: readonly Pin[], learnt: readonly Learnt[]) => void,
    prefer?: string,
  ): Promise<Values> {
    const generation = this.#generation;
    const at = this.#base ?? (await this.#marks()).head;
    // Known by then, but not as of the block asked for: written since, without having been read before.
    const later = await this.#modules.store.loadState(keys, at.number, at);
    const untouched = keys.filter((_, index) => later[index] === undefined);
    const [learnt, older] = await Promise.all([
      Promise.all(this.#read(untouched, at, prefer)),
      Promise.all(
        keys.map(async (key, index) =>
          later[index] === undefined ? undefined : this.#beforeCreation(key, number),
        ),
      ),
    ]);
    if (generation !== this.#generation) throw new StateUnavailableError('the copy began anew meanwhile');
    keep(
      untouched.flatMap((key, index) => toPins(key, learnt[index])),
      learnt,
    );
    const read = learnt.values();
    return older.map((value) => value ?? read.next().value?.value);
  }

  /** Reads keys in one go; those that somebody else is reading already are waited for. */
  #read(keys: readonly StateKey[], at: BlockRef, prefer: string | undefined): Promise<Learnt>[] {
    const fresh = keys.filter((key) => !this.#flights.has(keyText(key)));
    if (fresh.length > 0) {
      const all = this.#modules.read(fresh, at, prefer);
      for (const [index, key] of fresh.entries()) this.#fly(keyText(key), all, index);
    }
    return keys.map((key) => this.#flights.get(keyText(key)) ?? Promise.reject(new Error('no flight')));
  }

  #fly(text: string, all: Promise<readonly Learnt[]>, index: number): void {
    const flight = all.then((reads) => reads[index] ?? { value: undefined, upstream: undefined });
    this.#flights.set(text, flight);
    const end = (): void => {
      if (this.#flights.get(text) === flight) this.#flights.delete(text);
    };
    flight.then(end, end);
  }

  /**
   * A slot that was written and never read is one of a contract that was created since, whose storage is known to be
   * empty without looking. Before, it was empty too. The other way to get here is a contract that was destroyed, with
   * slots nobody had read: what they held is lost.
   */
  async #beforeCreation(key: StateKey, number: number): Promise<Uint8Array> {
    if (key.kind === 'slot') {
      const [account] = await this.load([{ kind: 'account', address: key.address }], number, undefined);
      if (account !== undefined && isBareAccount(account)) return NOTHING;
    }
    throw new StateUnavailableError(`${describeKey(key)} was overwritten before anybody read it`);
  }

  async #loadBelowAnchor(
    keys: readonly StateKey[],
    of: BlockRef | undefined,
    { anchor }: Marks,
  ): Promise<Values> {
    const { readArchive } = this.#modules;
    if (readArchive === undefined || of === undefined) {
      throw new StateUnavailableError(`the lowest block with state is ${anchor.number}`);
    }
    const codes = keys.map((key) =>
      key.kind === 'code' ? this.#archiveCode.get(toHex(key.hash)) : undefined,
    );
    return fill(keys, codes, async (unknown) => {
      const reads = await readArchive(unknown, of, undefined);
      for (const { code } of reads)
        if (code !== undefined) this.#archiveCode.set(toHex(code.hash), code.bytes);
      return reads.map(({ value }) => value);
    });
  }

  #keep(pins: readonly Pin[]): void {
    for (const pin of pins) this.#pins.set(keyText(pin.key), pin);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#pins.size === 0) return;
    if (this.#pins.size < this.#options.maxPins && this.#timer !== undefined) return;
    clearTimeout(this.#timer);
    const delay = this.#pins.size < this.#options.maxPins ? this.#options.pinDelayMs : 0;
    this.#timer = setTimeout(() => {
      this.flush().catch((error: unknown) => {
        // The copy began anew: these pins are of the old one.
        if (error instanceof StoreError && error.code === 'conflict') return;
        this.#modules.onFault(error);
      });
    }, delay);
  }
}

/** Finds what a block touched before it is executed, where an upstream can tell; `undefined` for what it cannot. */
export type Trace = (keys: readonly StateKey[]) => Promise<readonly (Learnt | undefined)[]>;

/** What executing one block has asked for, until the block is verified. */
export class Trial {
  readonly pins = new Map<string, Pin>();
  /** What was known here before, for whatever reason. */
  readonly held = new Map<string, Pin>();
  /** Who said anything that the block was executed on. */
  readonly sources = new Set<string>();
  /** Asked first: the upstream that gave the block. */
  readonly prefer: string | undefined;
  usedTrace = false;
  readonly #trace: Trace | undefined;

  constructor(prefer: string | undefined, trace?: Trace) {
    this.prefer = prefer;
    this.#trace = trace;
  }

  add(pins: readonly Pin[], learnt: readonly Learnt[]): void {
    for (const pin of pins) this.pins.set(keyText(pin.key), pin);
    for (const { upstream } of learnt) if (upstream !== undefined) this.sources.add(upstream);
  }

  /** Values that a trace of the whole block tells. */
  async trace(keys: readonly StateKey[]): Promise<Values> {
    const found = (await this.#trace?.(keys)) ?? [];
    this.usedTrace ||= found.some((learnt) => learnt !== undefined);
    this.add(
      keys.flatMap((key, index) => toPins(key, found[index])),
      found.filter((learnt) => learnt !== undefined),
    );
    return keys.map((_, index) => found[index]?.value);
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

function toPins(key: StateKey, learnt: Learnt | undefined): Pin[] {
  if (learnt?.value === undefined) return [];
  const pin: Pin = { key, value: learnt.value };
  const { code } = learnt;
  return code === undefined ? [pin] : [pin, { key: { kind: 'code', hash: code.hash }, value: code.bytes }];
}
