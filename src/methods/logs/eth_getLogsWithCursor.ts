import { HeadError } from '../../head/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import { Pace } from '../../primitives/pace.ts';
import { parseObject, toQuantity } from '../../primitives/parse.ts';
import type { Method, MethodContext } from '../method.ts';
import { orNull } from '../param-schemas.ts';
import { bytesSchema, logSchema } from '../schemas.ts';
import { anyCursor, formatCursor, type LogCursor, parseCursor } from './log-cursor.ts';
import { type LogFilter, parseLogFilter } from './log-filter.ts';
import {
  blockTooLarge,
  chargeLogs,
  checkpointOf,
  ENVELOPE_BYTES,
  FILTER_WORDS,
  filterSchema,
  mostBlocks,
  READ_WORDS,
  rangeOf,
} from './log-range.ts';

const WHERE = 'invalid argument 0';

export const ethGetLogsWithCursor: Method = {
  name: 'eth_getLogsWithCursor',
  summary: 'Logs of a range of blocks of any length, page by page.',
  rules: ['A4', 'A5', 'B2', 'B8', 'B15'],
  cost: { words: `20; ${READ_WORDS}`, of: () => 20 },
  params: [
    {
      name: 'filter',
      required: true,
      description: `As of \`eth_getLogs\`: ${FILTER_WORDS} With the \`cursor\` of a page: the page after it.`,
      schema: filterSchema({ cursor: orNull(anyCursor) }),
    },
  ],
  result: {
    name: 'page',
    description:
      'The logs of the page in chain order, and the cursor of the next page; without a cursor it is the last.',
    schema: {
      type: 'object',
      required: ['logs'],
      properties: { logs: { type: 'array', items: logSchema }, cursor: bytesSchema },
    },
  },
  async handle(params, context) {
    const { compat, logs } = context.settings;
    const filter = parseLogFilter(params[0], WHERE, { ...logs, compat });
    const { cursor } = parseObject(params[0], WHERE);
    const held =
      cursor === undefined || cursor === null ? undefined : parseCursor(cursor, `${WHERE}: cursor`, filter);
    const { from, to } = await boundsOf(filter, context);
    const start = held === undefined ? { block: from, index: 0 } : await placeAfter(held, context);
    if (start.block > to) return '{"logs":[]}';
    const { texts, next } = await readPage(filter, start, to, context);
    const more = next === undefined ? '' : `,"cursor":"${await cursorAt(next, filter, context)}"`;
    return `{"logs":[${texts.join()}]${more}}`;
  },
};

/** A log by its place in the chain. */
interface Place {
  readonly block: number;
  readonly index: number;
}

interface Page {
  readonly texts: readonly string[];
  /** The first log of the next page; undefined after the last. */
  readonly next: Place | undefined;
}

async function boundsOf(
  filter: LogFilter,
  context: MethodContext,
): Promise<{ readonly from: number; readonly to: number }> {
  if (filter.blockHash === undefined) return rangeOf(filter, context);
  const { number } = await blockOf(filter.blockHash, context);
  return { from: number, to: number };
}

/** The place that a cursor names; -32001 when its block is not part of the chain any more. */
async function placeAfter({ hash, index }: LogCursor, context: MethodContext): Promise<Place> {
  const { number } = await blockOf(hash, context);
  return index === undefined ? { block: number + 1, index: 0 } : { block: number, index };
}

async function blockOf(hash: Hex, { snapshot }: MethodContext): Promise<{ readonly number: number }> {
  const ref = await snapshot.blockAt({ kind: 'hash', hash, requireCanonical: false });
  if (ref === undefined) throw new HeadError({ code: 'BLOCK_NOT_FOUND', block: hash });
  return ref;
}

/** Reads on from a place, as far as the limits of one query go. */
async function readPage(filter: LogFilter, start: Place, to: number, context: MethodContext): Promise<Page> {
  const { snapshot, settings } = context;
  const { maxResults } = settings.logs;
  const maxBytes = settings.logs.maxResponseBytes - ENVELOPE_BYTES;
  const head = snapshot.head.number;
  const reach = start.block + (await mostBlocks(context));
  // What is pre-confirmed has no block that a cursor could stand on: it comes whole, in the last page.
  const last = reach > head ? to : Math.min(reach, to);
  const checkpoint = checkpointOf(context);
  const pace = new Pace();
  const texts: string[] = [];
  let confirmed = 0;
  let bytes = 0;
  try {
    for await (const { block, indexes } of snapshot.findLogs(filter.query, start.block, last, checkpoint)) {
      checkpoint();
      const { number } = block.logs;
      for (const index of indexes) {
        if (number === start.block && index < start.index) continue;
        if (pace.spend(1)) {
          await pace.rest();
          checkpoint();
        }
        const text = block.log(index);
        const isTooMany = texts.length >= maxResults;
        const isTooLarge = bytes + text.length + 1 > maxBytes;
        const isPreconfirmed = number > head;
        if (isTooLarge && confirmed === 0) throw blockTooLarge(toQuantity(number), maxBytes);
        if ((isTooLarge || isTooMany) && confirmed > 0) {
          const next = isPreconfirmed ? { block: head + 1, index: 0 } : { block: number, index };
          await expectCanonical(filter, Math.min(number, head), context);
          return { texts: texts.slice(0, confirmed), next };
        }
        texts.push(text);
        bytes += text.length + 1;
        if (!isPreconfirmed) confirmed++;
      }
    }
  } finally {
    chargeLogs(bytes, context);
  }
  return { texts, next: last < to ? { block: last + 1, index: 0 } : undefined };
}

/** A search that was not read to its end has not been held against the chain of its snapshot. */
async function expectCanonical(filter: LogFilter, number: number, context: MethodContext): Promise<void> {
  const search = context.snapshot.findLogs(filter.query, number, number, checkpointOf(context));
  for await (const _ of search) checkpointOf(context)();
}

async function cursorAt(next: Place, filter: LogFilter, { snapshot }: MethodContext): Promise<Hex> {
  const number = next.index === 0 ? next.block - 1 : next.block;
  const ref = await snapshot.blockAt({ kind: 'number', number, hex: toQuantity(number) });
  if (ref === undefined) throw new HeadError({ code: 'REORGANISED' });
  return formatCursor({ hash: ref.hash, index: next.index === 0 ? undefined : next.index }, filter);
}
