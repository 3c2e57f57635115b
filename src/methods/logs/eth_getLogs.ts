import { andThen } from '../../primitives/awaitable.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { Pace } from '../../primitives/pace.ts';
import { toQuantity } from '../../primitives/parse.ts';
import type { LogLimits, Method, MethodContext, RawJson } from '../method.ts';
import { logSchema } from '../schemas.ts';
import { type LogFilter, parseLogFilter, type RangeFilter } from './log-filter.ts';
import {
  blockTooLarge,
  chargeLogs,
  checkpointOf,
  ENVELOPE_BYTES,
  FILTER_WORDS,
  filterSchema,
  LOGS_COST,
  mostBlocks,
  rangeOf,
} from './log-range.ts';

export const ethGetLogs: Method = {
  name: 'eth_getLogs',
  summary: 'Logs of one block or a range of blocks that match a filter.',
  rules: ['A4', 'A5', 'B2', 'B8'],
  cost: LOGS_COST,
  params: [
    {
      name: 'filter',
      required: true,
      description: FILTER_WORDS,
      schema: filterSchema(),
    },
  ],
  result: {
    name: 'logs',
    description:
      'In chain order, complete: a query over a limit is an error that names a range to retry with.',
    schema: { type: 'array', items: logSchema },
  },
  handle(params, context) {
    const filter = parseLogFilter(params[0], 'invalid argument 0', {
      ...context.settings.logs,
      compat: context.settings.compat,
    });
    if (filter.blockHash !== undefined) {
      const found = context.snapshot.logsOf(filter.blockHash, filter.query, checkpointOf(context));
      return andThen(found, (json) => checkSize(json, filter.blockHash, context));
    }
    return logsInRange(filter, context);
  },
};

function logsInRange(filter: RangeFilter, context: MethodContext): Awaitable<RawJson> {
  const { snapshot } = context;
  const { from, to } = rangeOf(filter, context);
  if (from === to) {
    return andThen(snapshot.logsAt(from, filter.query, checkpointOf(context)), (json) =>
      json === undefined ? '[]' : checkSize(json, toQuantity(from), context),
    );
  }
  return andThen(checkRange(to - from, context), () => collect(filter, from, to, context));
}

/** Throws when a range is longer than it may be now. */
function checkRange(length: number, context: MethodContext): Awaitable<void> {
  if (length <= context.settings.logs.maxBlockRange.blocks) return;
  return andThen(mostBlocks(context), (limit) => {
    if (length <= limit) return;
    throw new InvalidParamsError(
      `query exceeds max block range ${limit}: block range too large, maximum allowed is ${limit} blocks`,
    );
  });
}

async function collect(
  filter: LogFilter,
  from: number,
  to: number,
  context: MethodContext,
): Promise<RawJson> {
  const { snapshot, settings } = context;
  const { maxResults } = settings.logs;
  const head = snapshot.head.number;
  const maxBytes = settings.logs.maxResponseBytes - ENVELOPE_BYTES;
  const checkpoint = checkpointOf(context);
  const pace = new Pace();
  const texts: string[] = [];
  let bytes = 2;
  try {
    for await (const { block, indexes } of snapshot.findLogs(filter.query, from, to, checkpoint)) {
      checkpoint();
      const { number } = block.logs;
      // Pre-confirmed blocks alone cannot be asked for in parts: like a single block, they are never too many.
      const tooMany = from <= head && texts.length + indexes.length > maxResults;
      // What would be retried must be served: past the first block that is known, and the first block has to fit.
      if (tooMany && number > from) throw tooManyResults(from, Math.min(number, head + 1), settings.logs);
      for (const index of indexes) {
        if (pace.spend(1)) {
          await pace.rest();
          checkpoint();
        }
        const text = block.log(index);
        texts.push(text);
        bytes += text.length + 1;
        if (bytes <= maxBytes) continue;
        throw number === from || from > head
          ? blockTooLarge(toQuantity(number), maxBytes)
          : tooManyResults(from, Math.min(number, head + 1), settings.logs);
      }
      if (tooMany) throw tooManyResults(from, number, settings.logs);
    }
  } finally {
    chargeLogs(bytes, context);
  }
  return `[${texts.join(',')}]`;
}

/** A single block is never refused for the count of its logs, only for their size. */
function checkSize(json: Buffer, block: string, context: MethodContext): RawJson {
  chargeLogs(json.length, context);
  const maxBytes = context.settings.logs.maxResponseBytes - ENVELOPE_BYTES;
  if (json.length > maxBytes) throw blockTooLarge(block, maxBytes);
  return json;
}

/** `full` is the block that did not fit; all before it do, and one block alone always does for its count. */
function tooManyResults(from: number, full: number, limits: LogLimits): InvalidParamsError {
  const to = Math.max(from, full - 1);
  return new InvalidParamsError(
    `query exceeds max results ${limits.maxResults}, retry with the range ${from}-${to}. ` +
      `Try with this block range [${toQuantity(from)}, ${toQuantity(to)}].`,
  );
}
