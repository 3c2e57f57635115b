import { andThen } from '../../primitives/awaitable.ts';
import { blocksIn } from '../../primitives/block-span.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { MethodError } from '../errors.ts';
import type { JsonSchema, MethodContext, VariableCost } from '../method.ts';
import { anyAddress, anyBound, anyHash, optionalFields, orNull } from '../param-schemas.ts';
import type { RangeFilter } from './log-filter.ts';

/** What the JSON-RPC envelope may add to the result; viem counts the whole body. */
export const ENVELOPE_BYTES = 1_024;

const oneOrMore = (one: JsonSchema, each = one): JsonSchema => ({
  anyOf: [one, { type: 'array', items: each, maxItems: 1000 }],
});

/** The fields of a log filter but for its blocks. */
const queryProperties = optionalFields({
  address: oneOrMore(anyAddress),
  topics: { type: 'array', items: orNull(oneOrMore(anyHash, orNull(anyHash))), maxItems: 4 },
});

/** A log filter of a range of blocks only. */
export function rangeFilterSchema(others: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  const bounds = optionalFields({ fromBlock: anyBound, toBlock: anyBound });
  return {
    type: 'object',
    properties: { ...queryProperties, ...bounds, blockHash: { type: 'null' }, ...others },
  };
}

/** A log filter: with a block hash, a range has no effect (A5). */
export function filterSchema(others: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  const properties = { ...queryProperties, blockHash: anyHash, ...others };
  return { anyOf: [rangeFilterSchema(others), { type: 'object', required: ['blockHash'], properties }] };
}

export const FILTER_WORDS =
  '`fromBlock` and `toBlock` (default `latest`), or `blockHash`; `address` (one or several); `topics` by ' +
  'position (null for anything, one, or several).';

/** Blocks of a range that cost one unit more. */
const BLOCKS_PER_UNIT = 100;
/** Logs that cost one more, in bytes of their JSON; how many there are is only known once they are read. */
const BYTES_PER_UNIT = 8_192;

/** The same, for the docs. */
export const READ_WORDS = `afterwards 1 for each ${BYTES_PER_UNIT / 1_024} KiB of logs that were read`;

/** Takes what it has cost to read logs, whether they are answered or too many. */
export function chargeLogs(bytes: number, context: MethodContext): void {
  context.charge(Math.floor(bytes / BYTES_PER_UNIT));
}

/** What it takes to look for logs: by the blocks that are asked for, held or not. */
export const LOGS_COST: VariableCost = {
  words: `5, and 1 for each ${BLOCKS_PER_UNIT} blocks; ${READ_WORDS}`,
  of([filter], head) {
    const { fromBlock, toBlock } =
      typeof filter === 'object' && filter !== null ? (filter as RangeBounds) : {};
    const blocks = Math.abs(roughNumber(toBlock, head) - roughNumber(fromBlock, head));
    return 5 + Math.min(Math.ceil(blocks / BLOCKS_PER_UNIT), head);
  },
};

interface RangeBounds {
  readonly fromBlock?: unknown;
  readonly toBlock?: unknown;
}

/** A bound of a range, as far as it matters for a cost. */
function roughNumber(bound: unknown, head: number): number {
  if (bound === 'earliest') return 0;
  return typeof bound === 'string' && /^0x[\da-f]{1,12}$/i.test(bound) ? Number(bound) : head;
}

/** The first and last block of a range; throws where it runs backwards or above the head. */
export function rangeOf(
  filter: RangeFilter,
  { snapshot, settings }: MethodContext,
): { readonly from: number; readonly to: number } {
  const head = snapshot.head.number;
  const from = snapshot.logBound(filter.from, 'from');
  const to = snapshot.logBound(filter.to, 'to');
  if (from > to) throw new InvalidParamsError('invalid block range params');
  // A tag never points above what the snapshot holds: only a number can.
  const above = [filter.to, filter.from].find((bound) => bound.kind === 'number' && bound.number > head);
  if (above?.kind === 'number') {
    const standard = 'block range extends beyond current head block';
    throw new InvalidParamsError(
      settings.compat
        ? standard
        : `${standard}: requested ${BigInt(above.hex)}, head ${head} (toBlock greater than latest)`,
    );
  }
  return { from, to };
}

/** How far apart the ends of one query may be now, in blocks. */
export function mostBlocks({ snapshot, settings }: MethodContext): Awaitable<number> {
  const { maxBlockRange } = settings.logs;
  if (maxBlockRange.ms === 0) return maxBlockRange.blocks;
  return andThen(snapshot.blockTimeMs(), (ms) => blocksIn(maxBlockRange, ms));
}

/** Ends a query whose time is up, or that nobody waits for; looked at whether anything matches or not. */
export function checkpointOf(context: MethodContext): () => void {
  const { timeLimitMs } = context.settings.logs;
  const deadline = performance.now() + timeLimitMs;
  return () => {
    if (context.isOver) throw new MethodError({ code: 'CANCELLED' });
    if (performance.now() > deadline) {
      throw new MethodError({ code: 'TIME_LIMIT', what: 'query', milliseconds: timeLimitMs });
    }
  };
}

export function blockTooLarge(block: string, maxBytes: number): InvalidParamsError {
  return new InvalidParamsError(
    `the matching logs of block ${block} alone exceed max response size ${maxBytes} bytes: ` +
      'narrow the address or topics',
  );
}
