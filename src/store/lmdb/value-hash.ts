import xxhash from 'xxhash-wasm';

export const prefixBytes = 9;

/** Position ‖ hash8(value): what postings are kept under. Position 0 is the address, 1 to 4 are topics 0 to 3. */
export type PostingPrefix = (position: number, value: Uint8Array) => Buffer;

/**
 * Postings are kept under 8 bytes of xxhash64 instead of the whole value. The seed is random per store, so nobody
 * can craft values that collide in it; and every candidate's body is compared with the query before it is an
 * answer. A collision therefore costs time, never a wrong log.
 */
export async function createPostingPrefix(seed: bigint): Promise<PostingPrefix> {
  const { h64Raw } = await xxhash();
  return (position, value) => {
    const prefix = Buffer.allocUnsafe(prefixBytes);
    prefix[0] = position;
    prefix.writeBigUInt64BE(h64Raw(value, seed), 1);
    return prefix;
  };
}
