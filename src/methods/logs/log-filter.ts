import { type BlockSelector, LATEST, parseBlockBound } from '../../primitives/block-selector.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import { parseAddress, parseArray, parseHash, parseObject } from '../../primitives/parse.ts';
import type { LogQuery } from '../../store/interface.ts';

const MAX_POSITIONS = 4;

export type LogBound = Exclude<BlockSelector, { kind: 'hash' }>;

/** A log filter as the client wrote it: one block by hash, or a range of blocks. */
export type LogFilter = { readonly query: LogQuery } & (
  | { readonly blockHash: Hex }
  | { readonly blockHash?: never; readonly from: LogBound; readonly to: LogBound }
);
export type RangeFilter = Extract<LogFilter, { readonly blockHash?: never }>;

export interface LogFilterRules {
  readonly compat: boolean;
  readonly maxAddresses: number;
  /** Alternatives at one position. */
  readonly maxTopics: number;
}

/** Reads a log filter. With `compat`, a block hash beside a range is an error; else the range has no effect. */
export function parseLogFilter(value: unknown, where: string, rules: LogFilterRules): LogFilter {
  const { blockHash, fromBlock, toBlock, address, topics } = parseObject(value, where);
  const query: LogQuery = {
    addresses: parseAddresses(address ?? undefined, where, rules.maxAddresses),
    topics: parseTopics(topics ?? undefined, where, rules.maxTopics),
  };
  if (blockHash === undefined || blockHash === null) {
    return {
      query,
      from: parseBound(fromBlock, `${where}: fromBlock`),
      to: parseBound(toBlock, `${where}: toBlock`),
    };
  }
  if (rules.compat && ((fromBlock ?? undefined) !== undefined || (toBlock ?? undefined) !== undefined)) {
    throw new InvalidParamsError(
      `${where}: cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other`,
    );
  }
  return { query, blockHash: parseHash(blockHash, `${where}: blockHash`) };
}

function parseBound(value: unknown, where: string): LogBound {
  const bound = value === undefined || value === null ? LATEST : parseBlockBound(value, where);
  if (bound.kind === 'hash') throw new InvalidParamsError(`${where}: expected a block number or tag`);
  return bound;
}

function parseAddresses(value: unknown, where: string, max: number): readonly Uint8Array[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [fromHex(parseAddress(value, `${where}: invalid address`))];
  if (value.length > max) {
    throw new InvalidParamsError('exceed max addresses or topics per search position');
  }
  return value.map((item, i) => fromHex(parseAddress(item, `${where}: invalid address at index ${i}`)));
}

function parseTopics(value: unknown, where: string, max: number): readonly (readonly Uint8Array[])[] {
  if (value === undefined) return [];
  const positions = parseArray(value, `${where}: topics`);
  if (positions.length > MAX_POSITIONS) throw new InvalidParamsError(`${where}: exceed max topics`);
  return positions.map((position, i) => parseTopic(position, `${where}: topics[${i}]`, max));
}

function parseTopic(value: unknown, where: string, max: number): readonly Uint8Array[] {
  if (value === null) return [];
  if (!Array.isArray(value)) return [fromHex(parseHash(value, where))];
  if (value.length > max) {
    throw new InvalidParamsError('exceed max addresses or topics per search position');
  }
  const topics: Uint8Array[] = [];
  for (const item of value) {
    // As geth: null among the alternatives matches anything, whatever else is listed.
    if (item === null) return [];
    topics.push(fromHex(parseHash(item, where)));
  }
  return topics;
}
