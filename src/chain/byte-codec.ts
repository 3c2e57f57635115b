/** Stored bytes that do not decode: damage or a foreign format, never a caller's mistake. */
export class CodecError extends Error {
  override readonly name = 'CodecError';
}

/** Grows a buffer; varints are LEB128 of non-negative safe integers. */
export class ByteWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(capacity = 256) {
    this.#buffer = Buffer.allocUnsafe(capacity);
  }

  get length(): number {
    return this.#length;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
  }

  varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    // Past 31 bits the bit operators would wrap, so the high part is divided off.
    while (rest > 0x7fffffff) {
      this.#buffer[this.#length++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    while (rest > 0x7f) {
      this.#buffer[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[this.#length++] = rest;
  }

  bigint(value: bigint): void {
    let hex = value === 0n ? '' : value.toString(16);
    if (hex.length % 2 === 1) hex = `0${hex}`;
    const bytes = Buffer.from(hex, 'hex');
    this.varint(bytes.length);
    this.raw(bytes);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** The bytes written so far, in a buffer of their own. */
  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#length));
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Reads what `ByteWriter` wrote; anything else is a `CodecError`, never a wrong length or a huge allocation. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #offset: number;

  constructor(bytes: Uint8Array, offset = 0) {
    this.#bytes = bytes;
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  byte(): number {
    const value = this.#bytes[this.#offset];
    if (value === undefined) throw new CodecError('unexpected end of bytes');
    this.#offset++;
    return value;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER) throw new CodecError('varint too large');
      if (byte < 0x80) return value;
      scale *= 128;
      if (scale > Number.MAX_SAFE_INTEGER) throw new CodecError('varint too long');
    }
  }

  /** A varint that counts items of at least `itemSize` bytes each, so that damage cannot ask for much memory. */
  count(itemSize: number): number {
    const value = this.varint();
    if (value * itemSize > this.remaining) throw new CodecError('count exceeds the bytes that follow');
    return value;
  }

  bigint(): bigint {
    const length = this.count(1);
    if (length > 32) throw new CodecError('integer wider than 256 bits');
    if (length === 0) return 0n;
    return BigInt(`0x${Buffer.from(this.raw(length)).toString('hex')}`);
  }

  skip(length: number): void {
    if (length > this.remaining) throw new CodecError('unexpected end of bytes');
    this.#offset += length;
  }

  /** A view, not a copy. */
  raw(length: number): Uint8Array {
    if (length > this.remaining) throw new CodecError('unexpected end of bytes');
    const start = this.#offset;
    this.#offset += length;
    return this.#bytes.subarray(start, this.#offset);
  }

  /** Fails unless every byte was read. */
  end(): void {
    if (this.remaining !== 0) throw new CodecError(`${this.remaining} bytes left over`);
  }
}
