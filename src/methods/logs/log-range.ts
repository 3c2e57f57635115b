import { andThen } from '../../primitives/awaitable.ts';
import { blocksIn } from '../../primitives/block-span.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { MethodError } from '../errors.ts';
import type { JsonSchema, MethodContext } from '../method.ts';
import { addressSchema, boundSchema, hashSchema } from '../schemas.ts';
import type { RangeFilter } from './log-filter.ts';

/** What the JSON-RPC envelope may add to the result; viem counts the whole body. */
export const ENVELOPE_BYTES = 1_024;

const topicSchema = { oneOf: [{ type: 'null' }, hashSchema, { type: 'array', items: hashSchema }] };

/** The fields of a log filter. */
export const filterProperties: Readonly<Record<string, JsonSchema>> = {
  fromBlock: boundSchema,
  toBlock: boundSchema,
  blockHash: hashSchema,
  address: { oneOf: [addressSchema, { type: 'array', items: addressSchema, maxItems: 1000 }] },
  topics: { type: 'array', items: topicSchema, maxItems: 4 },
};

export const FILTER_WORDS =
  '`fromBlock` and `toBlock` (default `latest`), or `blockHash`; `address` (one or several); `topics` by ' +
  'position (null for anything, one, or several).';

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
