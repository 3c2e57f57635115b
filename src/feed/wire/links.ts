import { ByteReader, CodecError } from '../../chain/byte-codec.ts';
import type { BlockRef } from '../../chain/outcome.ts';
import { type Hex, toHex } from '../../primitives/hex.ts';
import type { FeedItem } from '../interface.ts';

/** A block, and the one it stands on. */
export interface BlockLink extends BlockRef {
  readonly parentHash: Hex;
}

/** The blocks of a move of the head, removed ones newest first, added ones ascending. */
export interface HeadMove {
  readonly removed: readonly BlockLink[];
  readonly added: readonly BlockLink[];
}

/** Reads what a reader holds against its own head before it believes a move, without decoding any outcome. */
export function moveOf({ removed, added }: Extract<FeedItem, { kind: 'confirmed' }>): HeadMove {
  return {
    removed: removed.map(({ number, hash, parentHash }) => ({ number, hash, parentHash })),
    added: added.map(({ number, hash, outcome }) => {
      const link = linkOf(outcome);
      if (link.number !== number || link.hash !== hash) throw new CodecError('the outcome of another block');
      return link;
    }),
  };
}

/** Reads the first fields of an outcome, as the native core writes it: number, hash, parent. */
export function linkOf(outcome: Uint8Array): BlockLink {
  const input = new ByteReader(outcome);
  const number = Buffer.from(input.raw(8)).readBigUInt64LE();
  if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw new CodecError('number too large');
  return { number: Number(number), hash: toHex(input.raw(32)), parentHash: toHex(input.raw(32)) };
}
