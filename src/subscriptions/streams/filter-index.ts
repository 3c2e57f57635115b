import type { Log } from '../../chain/log.ts';
import type { LogQuery } from '../../store/interface.ts';

const NONE: ReadonlySet<never> = new Set();

/** Log filters by what they ask for most selectively, so that a log is held against those only that may want it. */
export class FilterIndex<T> {
  readonly #byAddress = new Map<string, Set<T>>();
  /** Those that ask for no address. */
  readonly #byTopic = new Map<string, Set<T>>();
  readonly #others = new Set<T>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(query: LogQuery, owner: T): void {
    this.#size++;
    const [table, keys] = this.#place(query);
    if (table === undefined) this.#others.add(owner);
    for (const key of keys) {
      const owners = table?.get(key);
      if (owners === undefined) table?.set(key, new Set([owner]));
      else owners.add(owner);
    }
  }

  delete(query: LogQuery, owner: T): void {
    this.#size--;
    this.#others.delete(owner);
    const [table, keys] = this.#place(query);
    for (const key of keys) {
      const owners = table?.get(key);
      if (owners?.delete(owner) === true && owners.size === 0) table?.delete(key);
    }
  }

  /** All owners whose filter may match, each once. */
  *candidates({ address, topics }: Log): Generator<T, void, void> {
    if (this.#byAddress.size > 0) yield* this.#byAddress.get(keyOf(address)) ?? NONE;
    const topic = topics[0];
    if (this.#byTopic.size > 0 && topic !== undefined) yield* this.#byTopic.get(keyOf(topic)) ?? NONE;
    yield* this.#others;
  }

  #place({ addresses, topics }: LogQuery): readonly [Map<string, Set<T>> | undefined, ReadonlySet<string>] {
    if (addresses.length > 0) return [this.#byAddress, new Set(addresses.map(keyOf))];
    const first = topics[0] ?? [];
    if (first.length > 0) return [this.#byTopic, new Set(first.map(keyOf))];
    return [undefined, NONE];
  }
}

function keyOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
