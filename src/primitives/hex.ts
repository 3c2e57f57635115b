/** Lower-case hex text with its 0x prefix. */
export type Hex = `0x${string}`;

/** What stands where a hash is not known, or there is none. */
export const ZERO_HASH: Hex = `0x${'0'.repeat(64)}`;

/** An answer or a promise of one: stores and native reads are synchronous where they can be. */
export type Awaitable<T> = T | Promise<T>;

/** Renders bytes as 0x-prefixed lower-case hex. */
export function toHex(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}

/** Parses 0x-prefixed hex whose shape (hex digits, even length) has been checked already. */
export function fromHex(hex: string): Uint8Array {
  return Buffer.from(hex.slice(2), 'hex');
}
