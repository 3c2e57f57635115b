import { LRUCache } from 'lru-cache';
import type { BlockRef } from '../chain/outcome.ts';
import { keyText, type StateKey } from '../chain/state-key.ts';
import { codeHashOf } from '../executor/missing.ts';
import { StoreError } from '../store/error.ts';
import type { Marks, Pin, StoreReader } from '../store/interface.ts';

type Values = readonly (Uint8Array | undefined)[];

/** Bytes that a value counts beside its own. */
const OVERHEAD = 128;

/**
 * A store that is read only, with what it does not know kept in memory once it was read elsewhere: a replica writes nothing. What no block
 * since the anchor has written is the same at every block held, so a value is good until the anchor is another.
 */
export class RememberedPins {
  readonly #store: Pick<StoreReader, 'marks' | 'canonicalHash' | 'loadState'>;
  readonly #values: LRUCache<string, Uint8Array>;
  #anchor: string | undefined;

  constructor(store: Pick<StoreReader, 'marks' | 'canonicalHash' | 'loadState'>, maxBytes: number) {
    this.#store = store;
    this.#values = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: (value) => value.length + OVERHEAD,
    });
  }

  async marks(): Promise<Marks | undefined> {
    return this.#store.marks();
  }

  async canonicalHash(number: number): Promise<BlockRef['hash'] | undefined> {
    return this.#store.canonicalHash(number);
  }

  async loadState(keys: readonly StateKey[], number: number, of?: BlockRef): Promise<Values> {
    const stored = await this.#store.loadState(keys, number, of);
    if (!stored.includes(undefined)) return stored;
    const anchor = (await this.marks())?.anchor.hash;
    if (anchor !== this.#anchor) return stored;
    return keys.map((key, index) => stored[index] ?? this.#find(key));
  }

  /** An account is of no use without its code, which only comes with it: both are known, or neither. */
  #find(key: StateKey): Uint8Array | undefined {
    const value = this.#values.get(keyText(key));
    const hash = key.kind === 'account' ? codeHashOf(value) : undefined;
    if (hash === undefined || this.#values.get(keyText({ kind: 'code', hash })) !== undefined) return value;
    this.#values.delete(keyText(key));
    return undefined;
  }

  async pin(anchor: BlockRef, pins: readonly Pin[]): Promise<void> {
    const held = (await this.marks())?.anchor;
    if (held?.hash !== anchor.hash)
      throw new StoreError('conflict', `block ${anchor.number} ${anchor.hash} is not the anchor`);
    if (this.#anchor !== anchor.hash) {
      this.#values.clear();
      this.#anchor = anchor.hash;
    }
    // The first one wins, as it does in a store.
    for (const { key, value } of pins)
      if (!this.#values.has(keyText(key))) this.#values.set(keyText(key), value);
  }
}
