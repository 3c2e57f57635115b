import { HeadError } from '../head/errors.ts';
import { type LogBound, parseLogFilter } from '../methods/logs/log-filter.ts';
import type { MethodContext } from '../methods/method.ts';
import { InvalidParamsError } from '../primitives/errors.ts';
import type { Hex } from '../primitives/hex.ts';
import {
  parseAddress,
  parseArray,
  parseHash,
  parseObject,
  parseString,
  parseUint64,
  toQuantity,
} from '../primitives/parse.ts';
import type { LogQuery } from '../store/interface.ts';

/** A log by its place in the chain. */
export interface LogPlace {
  readonly block: number;
  readonly index: number;
}

/** Logs of confirmed blocks, or of pre-confirmed ones too. */
export interface LogRequest {
  readonly kind: 'logs' | 'pendingLogs';
  readonly query: LogQuery;
  /** The first log that is wanted; without it, what comes from now on. */
  readonly from: LogPlace | undefined;
  /** Each message says up to where the chain could be read when it was sent. */
  readonly points?: boolean;
}

export type BlockRequest =
  | { readonly kind: 'newHeads' | 'newFlashblocks' }
  | { readonly kind: 'newFlashblockTransactions'; readonly full: boolean };

export interface StateRequest {
  readonly kind: 'stateChanges';
  readonly addresses: readonly Hex[];
}

/** Transactions as soon as they are pre-confirmed, or confirmed without having been. */
export type TransactionRequest =
  | { readonly kind: 'newPendingTransactions'; readonly full: boolean }
  | {
      readonly kind: 'transactionReceipts';
      /** Of these transactions only; undefined for all. */
      readonly hashes: ReadonlySet<Hex> | undefined;
    };

/** What a client subscribes to. */
export type SubscriptionRequest = LogRequest | BlockRequest | StateRequest | TransactionRequest;
export type SubscriptionKind = SubscriptionRequest['kind'];

export const SUBSCRIPTION_KINDS = [
  'logs',
  'pendingLogs',
  'newHeads',
  'newFlashblocks',
  'newFlashblockTransactions',
  'stateChanges',
  'newPendingTransactions',
  'transactionReceipts',
] as const satisfies readonly SubscriptionKind[];

/** What a subscription costs, and each address or topic that it asks for, measured. */
const SUBSCRIPTION_BYTES = 1_024;
const VALUE_BYTES = 384;

/** What the filter of a subscription takes up in memory, roughly. */
export function filterBytes(request: SubscriptionRequest): number {
  return SUBSCRIPTION_BYTES + VALUE_BYTES * valuesOf(request);
}

function valuesOf(request: SubscriptionRequest): number {
  switch (request.kind) {
    case 'logs':
    case 'pendingLogs':
      return [request.query.addresses, ...request.query.topics].reduce((sum, { length }) => sum + length, 0);
    case 'stateChanges':
      return request.addresses.length;
    case 'transactionReceipts':
      return request.hashes?.size ?? 0;
    case 'newHeads':
    case 'newFlashblocks':
    case 'newFlashblockTransactions':
    case 'newPendingTransactions':
      return 0;
  }
}

const OPTIONS = 'invalid argument 1';
const MAX_SHOWN = 64;

/** Reads the parameters of eth_subscribe. `newest` is the highest block that subscribers have been told of. */
export function parseRequest(
  params: readonly unknown[],
  context: Pick<MethodContext, 'snapshot' | 'settings'>,
  newest: number,
): SubscriptionRequest {
  const name = parseString(params[0], 'invalid argument 0');
  const kind = SUBSCRIPTION_KINDS.find((known) => known === name);
  const option = params[1] ?? undefined;
  switch (kind) {
    case undefined:
      throw new InvalidParamsError(`no "${name.slice(0, MAX_SHOWN)}" subscription in eth namespace`);
    case 'logs':
    case 'pendingLogs':
      return { kind, ...parseLogs(option ?? {}, context, newest) };
    case 'newHeads':
    case 'newFlashblocks':
      if (option !== undefined) throw new InvalidParamsError(`${OPTIONS}: ${kind} takes no options`);
      return { kind };
    case 'newFlashblockTransactions':
    case 'newPendingTransactions':
      if (option !== undefined && typeof option !== 'boolean') {
        throw new InvalidParamsError(`${OPTIONS}: expected a boolean`);
      }
      return { kind, full: option ?? false };
    case 'stateChanges':
      return { kind, addresses: parseAddresses(option, context.settings.logs.maxAddresses) };
    case 'transactionReceipts':
      return { kind, hashes: parseHashes(option ?? {}, context.settings.logs.maxTopics) };
  }
}

function parseLogs(
  value: unknown,
  { snapshot, settings }: Pick<MethodContext, 'snapshot' | 'settings'>,
  newest: number,
): Omit<LogRequest, 'kind'> {
  const { fromBlock, toBlock, fromLogIndex, points = false } = parseObject(value, OPTIONS);
  const filter = parseLogFilter(value, OPTIONS, { ...settings.logs, compat: settings.compat });
  if (filter.blockHash !== undefined) {
    throw new InvalidParamsError(`${OPTIONS}: a subscription is not of one block: blockHash`);
  }
  // Libraries send these two of their own accord; they say what is so anyhow.
  if (toBlock !== undefined && toBlock !== null && toBlock !== 'latest' && toBlock !== 'pending') {
    throw new InvalidParamsError(`${OPTIONS}: a subscription has no end: toBlock`);
  }
  if (typeof points !== 'boolean') throw new InvalidParamsError(`${OPTIONS}: points: expected a boolean`);
  const hasStart = fromBlock !== undefined && fromBlock !== null;
  const hasIndex = fromLogIndex !== undefined && fromLogIndex !== null;
  if (!hasStart) {
    if (hasIndex) throw new InvalidParamsError(`${OPTIONS}: fromLogIndex needs fromBlock`);
    return { query: filter.query, from: undefined, points };
  }
  const block = snapshot.logBound(filter.from, 'from');
  checkStart(filter.from, block, snapshot.logBound(EARLIEST, 'from'), Math.max(newest, snapshot.head.number));
  const index = hasIndex ? Number(parseUint64(fromLogIndex, `${OPTIONS}: fromLogIndex`)) : 0;
  return { query: filter.query, from: { block, index }, points };
}

const EARLIEST: LogBound = { kind: 'tag', tag: 'earliest' };

/** The block after the newest may be named: a client that has it all goes on there. */
function checkStart(from: LogBound, block: number, lowest: number, newest: number): void {
  if (block < lowest) {
    throw new HeadError({ code: 'BLOCK_NOT_FOUND', block: toQuantity(block), lowest: toQuantity(lowest) });
  }
  if (from.kind === 'number' && block > newest + 1) {
    throw new InvalidParamsError(
      `block range extends beyond current head block: requested ${BigInt(from.hex)}, head ${newest}`,
    );
  }
}

function parseAddresses(value: unknown, max: number): readonly Hex[] {
  const items = parseArray(value, OPTIONS);
  if (items.length === 0) throw new InvalidParamsError(`${OPTIONS}: expected at least one address`);
  if (items.length > max) throw new InvalidParamsError(`${OPTIONS}: at most ${max} addresses`);
  return [
    ...new Set(items.map((item, at) => parseAddress(item, `${OPTIONS}: invalid address at index ${at}`))),
  ];
}

/** As geth: no hashes are all of them. */
function parseHashes(value: unknown, max: number): ReadonlySet<Hex> | undefined {
  const { transactionHashes } = parseObject(value, OPTIONS);
  if (transactionHashes === undefined || transactionHashes === null) return undefined;
  const items = parseArray(transactionHashes, `${OPTIONS}: transactionHashes`);
  if (items.length > max) throw new InvalidParamsError(`${OPTIONS}: at most ${max} transactionHashes`);
  if (items.length === 0) return undefined;
  return new Set(items.map((item, at) => parseHash(item, `${OPTIONS}: transactionHashes[${at}]`)));
}
