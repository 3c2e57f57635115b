import { CodecError } from '../chain/byte-codec.ts';

/** What a diff has entries of. */
export type DiffEntry = 'wiped' | 'account' | 'slot' | 'code';

/** How long keys are: an address, an address and a slot, the hash of code. */
const KEY_BYTES: Readonly<Record<DiffEntry, number>> = { wiped: 20, account: 20, slot: 52, code: 32 };
const KINDS = ['wiped', 'account', 'slot', 'code'] as const satisfies readonly DiffEntry[];
const NOTHING = new Uint8Array(0);

/**
 * Finds what a block wrote in the bytes of its diff (`encodeDiff`), which the native core sorts by keys. All that is made for it is where
 * keys begin: as maps of objects, the same took a replica more time than all else that it does for a block, most of it for collecting garbage.
 */
export class DiffIndex {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #starts: Readonly<Record<DiffEntry, Int32Array>>;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const starts: Record<DiffEntry, Int32Array> = {
      ...{ wiped: new Int32Array(), account: new Int32Array() },
      ...{ slot: new Int32Array(), code: new Int32Array() },
    };
    let at = 0;
    for (const kind of KINDS) {
      const count = this.#length(at);
      at += 4;
      // Each has its key at least: a count that is made up asks for no memory.
      if (count * KEY_BYTES[kind] > bytes.length - at) throw new CodecError('unexpected end of bytes');
      const found = new Int32Array(count);
      for (let entry = 0; entry < count; entry++) {
        found[entry] = at;
        at += KEY_BYTES[kind];
        if (kind !== 'wiped') at += 4 + this.#length(at);
      }
      starts[kind] = this.#sorted(found, KEY_BYTES[kind]);
    }
    if (at !== bytes.length) throw new CodecError('a diff ends elsewhere');
    this.#starts = starts;
  }

  /** What was written for a key: a value, code, or nothing for an account that was wiped; undefined where nothing was. */
  find(kind: DiffEntry, key: Uint8Array): Uint8Array | undefined {
    const starts = this.#starts[kind];
    // The last of those that are not above it.
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(starts[middle] ?? 0, key) <= 0) low = middle + 1;
      else high = middle;
    }
    const start = starts[low - 1];
    if (start === undefined || this.#compare(start, key) !== 0) return undefined;
    if (kind === 'wiped') return NOTHING;
    const at = start + key.length;
    return this.#bytes.subarray(at + 4, at + 4 + this.#length(at));
  }

  #length(at: number): number {
    if (at + 4 > this.#bytes.length) throw new CodecError('unexpected end of bytes');
    return this.#view.getUint32(at, true);
  }

  /** Below zero where the key at `start` comes before another. */
  #compare(start: number, key: Uint8Array): number {
    for (let at = 0; at < key.length; at++) {
      const difference = (this.#bytes[start + at] ?? 0) - (key[at] ?? 0);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /** Ascending by key, and as they came where keys are the same. */
  #sorted(starts: Int32Array, length: number): Int32Array {
    const order = (a: number, b: number): number => {
      for (let at = 0; at < length; at++) {
        const difference = (this.#bytes[a + at] ?? 0) - (this.#bytes[b + at] ?? 0);
        if (difference !== 0) return difference;
      }
      return a - b;
    };
    const isSorted = starts.every((start, at) => at === 0 || order(starts[at - 1] ?? 0, start) < 0);
    return isSorted ? starts : starts.toSorted(order);
  }
}
