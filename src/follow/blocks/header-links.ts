import { CodecError } from '../../chain/byte-codec.ts';
import { type Hex, toHex } from '../../primitives/hex.ts';

const HASH_BYTES = 32;
/** RLP of a string of 32 bytes begins with this. */
const HASH_PREFIX = 0xa0;
/** Lists with a length of their own begin above this; headers are always long ones. */
const LONG_LIST = 0xf7;

/** The parent's hash: the first field of a header (RLP). */
export function parentHashOf(header: Uint8Array): Hex {
  const first = header[0] ?? 0;
  const at = 1 + (first - LONG_LIST);
  if (first <= LONG_LIST || header[at] !== HASH_PREFIX) throw new CodecError('not a block header');
  return toHex(header.subarray(at + 1, at + 1 + HASH_BYTES));
}
