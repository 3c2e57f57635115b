/** What all threads share to know whether anything has happened to filters. */
export type FilterVersionMemory = Int32Array<SharedArrayBuffer>;

/** Counts what happens to filters: events, filters that end, answers that are given back. While it stands still, none has more to tell. */
export class FilterVersion {
  readonly #memory: FilterVersionMemory;

  constructor(memory: FilterVersionMemory = FilterVersion.allocate()) {
    this.#memory = memory;
  }

  static allocate(): FilterVersionMemory {
    return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  }

  get now(): number {
    return Atomics.load(this.#memory, 0);
  }

  bump(): void {
    Atomics.add(this.#memory, 0, 1);
  }
}
