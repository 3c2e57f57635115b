import { InvalidParamsError } from './errors.ts';
import type { Hex } from './hex.ts';
import { parseHash, parseObject, parseUint64, toQuantity } from './parse.ts';

export type BlockTag = 'latest' | 'pending' | 'safe' | 'finalized' | 'earliest';

/** Which block a client means, before any chain is asked. */
export type BlockSelector =
  | { readonly kind: 'tag'; readonly tag: BlockTag }
  /** `number` may have lost precision above 2^53; no chain is that long, and `hex` has not. */
  | { readonly kind: 'number'; readonly number: number; readonly hex: Hex }
  | { readonly kind: 'hash'; readonly hash: Hex; readonly requireCanonical: boolean };

export const LATEST: BlockSelector = { kind: 'tag', tag: 'latest' };

const TAGS: ReadonlyMap<unknown, BlockSelector> = new Map<unknown, BlockSelector>([
  ['latest', LATEST],
  ['pending', { kind: 'tag', tag: 'pending' }],
  ['safe', { kind: 'tag', tag: 'safe' }],
  ['finalized', { kind: 'tag', tag: 'finalized' }],
  ['earliest', { kind: 'tag', tag: 'earliest' }],
]);

const MAX_INT64 = 0x7fff_ffff_ffff_ffffn;

/** Reads a tag or a hex number, as the bounds of a log filter are. */
export function parseBlockBound(value: unknown, where: string): BlockSelector {
  const tag = TAGS.get(value);
  if (tag !== undefined) return tag;
  const number = parseUint64(value, where);
  if (number > MAX_INT64) throw new InvalidParamsError(`${where}: block number larger than int64`);
  return { kind: 'number', number: Number(number), hex: toQuantity(number) };
}

/** Reads a tag, a hex number, a bare block hash or an EIP-1898 object; absent or null means `latest`. */
export function parseBlockSelector(value: unknown, where: string): BlockSelector {
  if (value === undefined || value === null) return LATEST;
  if (typeof value === 'object') return parseEip1898(value, where);
  if (typeof value === 'string' && value.length === 66) {
    return { kind: 'hash', hash: parseHash(value, where), requireCanonical: false };
  }
  return parseBlockBound(value, where);
}

function parseEip1898(value: object, where: string): BlockSelector {
  const { blockNumber, blockHash, requireCanonical } = parseObject(value, where);
  const hasNumber = blockNumber !== undefined && blockNumber !== null;
  const hasHash = blockHash !== undefined && blockHash !== null;
  if (hasNumber && hasHash) {
    throw new InvalidParamsError(
      `${where}: cannot specify both BlockHash and BlockNumber, choose one or the other`,
    );
  }
  if (typeof (requireCanonical ?? false) !== 'boolean') {
    throw new InvalidParamsError(`${where}: requireCanonical: expected a boolean`);
  }
  if (hasNumber) return parseBlockBound(blockNumber, `${where}: blockNumber`);
  if (hasHash) {
    return {
      kind: 'hash',
      hash: parseHash(blockHash, `${where}: blockHash`),
      requireCanonical: requireCanonical === true,
    };
  }
  throw new InvalidParamsError(`${where}: neither block nor hash specified`);
}

/** The selector as a client would write it, for messages. */
export function formatSelector(selector: BlockSelector): string {
  switch (selector.kind) {
    case 'tag':
      return selector.tag;
    case 'number':
      return selector.hex;
    case 'hash':
      return selector.hash;
  }
}
