const NOTHING = Buffer.alloc(0);

/**
 * Bytes that arrive in pieces. A piece that stays alone is kept as it came; from the second on all are copied together,
 * so that a client which sends byte by byte makes us hold bytes, and not a buffer for each of them.
 */
export class ArrivingBytes {
  #bytes: Buffer = NOTHING;
  #length = 0;

  /** Bytes that have arrived. */
  get length(): number {
    return this.#length;
  }

  /** What they take up. */
  get capacity(): number {
    return this.#bytes.length;
  }

  push(piece: Buffer): void {
    if (this.#length === 0) {
      this.#bytes = piece;
      this.#length = piece.length;
      return;
    }
    const length = this.#length + piece.length;
    if (length > this.#bytes.length) this.#grow(length);
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
  }

  /** All of it; nothing is left. */
  take(): Buffer {
    const all = this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length);
    this.#bytes = NOTHING;
    this.#length = 0;
    return all;
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
