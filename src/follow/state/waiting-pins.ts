import type { Outcome } from '../../chain/outcome.ts';
import { keyText, type StateKey } from '../../chain/state-key.ts';
import { codeHashOf } from '../../executor/missing.ts';
import { StoreError } from '../../store/error.ts';
import type { Pin, Store } from '../../store/interface.ts';

export interface WaitingPinsOptions {
  /** Pins that may wait to be written; a long value counts for several. */
  readonly maxPins: number;
  /** How long a pin may wait for a block to be written with. */
  readonly pinDelayMs: number;
}

export interface WaitingPinsModules {
  readonly store: Pick<Store, 'marks' | 'pin'>;
  readonly onFault: (error: unknown) => void;
}

/** Bytes of a value that count as one pin more. */
const BYTES_PER_PIN = 1_024;
/** Pins that are written together, about: a transaction holds up the next block. */
const PINS_AT_ONCE = 1_000;

/** State that was fetched and is not written yet. It is written with a block, or by itself after a while. */
export class WaitingPins {
  readonly #options: WaitingPinsOptions;
  readonly #modules: WaitingPinsModules;
  readonly #pins = new Map<string, Pin>();
  #weight = 0;
  /** Grows when the copy re-anchors. */
  #generation = 0;
  #isReplaced = false;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;

  constructor(options: WaitingPinsOptions, modules: WaitingPinsModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Pins that wait, long ones counted for several. */
  get weight(): number {
    return this.#weight;
  }

  /** Whether nothing more should be fetched for requests until something is written. */
  get isFull(): boolean {
    return this.#weight >= this.#options.maxPins;
  }

  valueOf(text: string): Uint8Array | undefined {
    return this.#pins.get(text)?.value;
  }

  add(pins: Iterable<Pin>): void {
    for (const pin of pins) {
      const text = keyText(pin.key);
      this.#drop(text);
      this.#pins.set(text, pin);
      this.#weight += weightOf(pin);
    }
    this.#schedule(this.isFull ? 0 : this.#options.pinDelayMs);
  }

  /**
   * What has to be written together with blocks: all that waits, or if that is much, what these blocks wrote. Without
   * it, a crash before the rest is written would lose what there was before.
   */
  dueWith(outcomes: readonly Outcome[]): readonly Pin[] {
    if (this.#weight <= PINS_AT_ONCE) return [...this.#pins.values()];
    return [...overwrittenBy(outcomes, this.#pins).values()];
  }

  /** Forgets what was written. */
  written(pins: readonly Pin[]): void {
    for (const pin of pins) {
      const text = keyText(pin.key);
      if (this.#pins.get(text) === pin) this.#drop(text);
    }
  }

  /** Forgets everything as `commit` has the copy begin at another anchor; writes nothing meanwhile. */
  async replace(commit: () => Promise<void>): Promise<void> {
    this.#isReplaced = true;
    try {
      await commit();
      this.#generation++;
      this.#pins.clear();
      this.#weight = 0;
    } finally {
      this.#isReplaced = false;
      this.#schedule(this.#options.pinDelayMs);
    }
  }

  /** Writes what waits, a part at a time; there is never more than one such writing under way. */
  flush(): Promise<void> {
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const generation = this.#generation;
    for (let left = this.#pins.size; left > 0; ) {
      const marks = await this.#modules.store.marks();
      // What waits was read for the copy that is about to go: pinned at the new anchor it would be false.
      if (this.#isReplaced) return;
      const part = this.#next();
      if (part.length === 0 || marks === undefined) return;
      await this.#modules.store.pin(marks.anchor, part);
      if (generation !== this.#generation) return;
      this.written(part);
      left -= part.length;
    }
  }

  /** The pins that have waited longest, as many as are written together. */
  #next(): readonly Pin[] {
    const part: Pin[] = [];
    let weight = 0;
    for (const pin of this.#pins.values()) {
      if (weight >= PINS_AT_ONCE) break;
      part.push(pin);
      weight += weightOf(pin);
    }
    return part;
  }

  #drop(text: string): void {
    const pin = this.#pins.get(text);
    if (pin === undefined) return;
    this.#weight -= weightOf(pin);
    this.#pins.delete(text);
  }

  #schedule(delayMs: number): void {
    if (this.#pins.size === 0 || this.#flushing !== undefined) return;
    if (this.#timer !== undefined && delayMs > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#flushInTime(), delayMs);
  }

  async #flushInTime(): Promise<void> {
    try {
      await this.flush();
    } catch (error) {
      // The copy re-anchored: these pins are of the old one.
      if (!(error instanceof StoreError && error.code === 'conflict')) this.#modules.onFault(error);
    }
    // What came meanwhile, or could not be written.
    this.#schedule(this.#options.pinDelayMs);
  }
}

/** Those of some pins, by the text of their key, that these blocks write over, that go with their account, or that are its code. */
export function overwrittenBy(
  outcomes: readonly Outcome[],
  held: Iterable<readonly [text: string, pin: Pin]> & { get(text: string): Pin | undefined },
): ReadonlyMap<string, Pin> {
  const found = new Map<string, Pin>();
  for (const { diff } of outcomes) {
    const codeOf = (account: Uint8Array): StateKey[] => {
      const hash = codeHashOf(account);
      return hash === undefined ? [] : [{ kind: 'code', hash }];
    };
    const written: StateKey[] = [
      ...diff.accounts.flatMap(([address, account]): StateKey[] => [
        { kind: 'account', address },
        ...codeOf(account),
      ]),
      ...diff.slots.map(([address, slot]): StateKey => ({ kind: 'slot', address, slot })),
    ];
    for (const text of written.map(keyText)) {
      const pin = held.get(text);
      if (pin !== undefined) found.set(text, pin);
    }
    const isWiped = ({ key }: Pin): boolean =>
      key.kind === 'slot' && diff.wiped.some((address) => Buffer.compare(address, key.address) === 0);
    if (diff.wiped.length > 0) for (const [text, pin] of held) if (isWiped(pin)) found.set(text, pin);
  }
  return found;
}

function weightOf({ value }: Pin): number {
  return 1 + Math.floor(value.length / BYTES_PER_PIN);
}
