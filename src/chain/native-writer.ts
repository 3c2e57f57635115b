/** Writes the native core's layout (`bytes.rs`): little-endian lengths and raw bytes, without padding. */
export class NativeWriter {
  readonly #parts: Uint8Array[] = [];

  raw(bytes: Uint8Array): void {
    this.#parts.push(bytes);
  }

  number(value: number | bigint, bytes: 1 | 4 | 8): void {
    const part = Buffer.alloc(8);
    part.writeBigUInt64LE(BigInt(value));
    this.raw(part.subarray(0, bytes));
  }

  bytes(bytes: Uint8Array): void {
    this.number(bytes.length, 4);
    this.raw(bytes);
  }

  quantity(value: bigint): void {
    const hex = value === 0n ? '' : value.toString(16);
    this.bytes(Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex'));
  }

  list<T>(items: readonly T[], write: (item: T) => void): void {
    this.number(items.length, 4);
    for (const item of items) write(item);
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts);
  }
}
