import { createHash } from 'node:crypto';
import { InvalidParamsError } from '../../primitives/errors.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import type { JsonSchema } from '../method.ts';
import type { LogFilter } from './log-filter.ts';

/** Where a page ended: all logs before it have been given. */
export interface LogCursor {
  /** The block that it stands on: the last that was given whole or, with an index, in part. */
  readonly hash: Hex;
  /** The next log of that block; undefined when it was given whole. */
  readonly index: number | undefined;
}

const VERSION = 1;
const DIGEST_BYTES = 8;
const HASH_BYTES = 32;
const HASH_AT = 1 + DIGEST_BYTES;
const INDEX_AT = HASH_AT + HASH_BYTES;
const LENGTH = INDEX_AT + 4;
/** What a cursor looks like. */
export const anyCursor: JsonSchema = { type: 'string', pattern: `^0x01[0-9a-f]{${2 * LENGTH - 2}}$` };
/** No block has so many logs. */
const WHOLE = 0xffff_ffff;

/** A cursor as clients hold it. */
export function formatCursor({ hash, index }: LogCursor, filter: LogFilter): Hex {
  const bytes = Buffer.alloc(LENGTH);
  bytes.writeUInt8(VERSION, 0);
  bytes.set(digestOf(filter), 1);
  bytes.set(fromHex(hash), HASH_AT);
  bytes.writeUInt32BE(index ?? WHOLE, INDEX_AT);
  return toHex(bytes);
}

/** Reads a cursor; refuses one that did not come from a page of this filter. */
export function parseCursor(value: unknown, where: string, filter: LogFilter): LogCursor {
  if (typeof value !== 'string') throw new InvalidParamsError(`${where}: expected a string`);
  if (!/^0x[0-9a-f]+$/.test(value) || value.length !== 2 + 2 * LENGTH || !value.startsWith('0x01')) {
    throw new InvalidParamsError(`${where}: not a cursor of this method`);
  }
  const bytes = Buffer.from(value.slice(2), 'hex');
  if (Buffer.compare(bytes.subarray(1, HASH_AT), digestOf(filter)) !== 0) {
    throw new InvalidParamsError(`${where}: the cursor is of another address, topics or blockHash`);
  }
  const index = bytes.readUInt32BE(INDEX_AT);
  return {
    hash: toHex(bytes.subarray(HASH_AT, INDEX_AT)),
    index: index === WHOLE ? undefined : index,
  };
}

/** What decides which logs of a block are given. Bounds may differ: a cursor has its own beginning. */
function digestOf({ query, blockHash }: LogFilter): Buffer {
  const values = [query.addresses, ...query.topics].map((position) => position.map(toHex));
  const text = JSON.stringify([values, blockHash ?? null]);
  return createHash('sha256').update(text).digest().subarray(0, DIGEST_BYTES);
}
