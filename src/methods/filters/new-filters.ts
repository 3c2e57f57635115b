import { InvalidParamsError } from '../../primitives/errors.ts';
import { parseObject } from '../../primitives/parse.ts';
import { type LogBound, parseLogFilter } from '../logs/log-filter.ts';
import { FILTER_WORDS, rangeFilterSchema } from '../logs/log-range.ts';
import type { Method, MethodContext, ParamDoc, RawJson } from '../method.ts';
import { openBound, orNull } from '../param-schemas.ts';
import { quantitySchema } from '../schemas.ts';
import { answerOf, type FilterCriteria, type FilterHost } from './host.ts';

const result: Method['result'] = {
  name: 'filter',
  description: 'Its id. It expires when it is not asked for its changes for a while.',
  schema: quantitySchema,
};

const filterParam: ParamDoc = {
  name: 'filter',
  required: true,
  description: `${FILTER_WORDS} With \`toBlock\` \`pending\`, pre-confirmed logs too.`,
  schema: rangeFilterSchema({ toBlock: orNull(openBound) }),
};

/** The three methods that make a filter. */
export function newFilterMethods(host: FilterHost): readonly Method[] {
  return [
    {
      name: 'eth_newFilter',
      summary: 'Makes a filter of logs, which `eth_getFilterChanges` tells the changes of.',
      rules: ['A4', 'A5', 'B12'],
      cost: 2,
      params: [filterParam],
      result,
      handle: (params, context) => create(host, readFilter(params[0], context), context),
    },
    {
      name: 'eth_newBlockFilter',
      summary: 'Makes a filter of the hashes of new blocks.',
      rules: ['B12'],
      params: [],
      result,
      handle: (_params, context) => create(host, { kind: 'blocks' }, context),
    },
    {
      name: 'eth_newPendingTransactionFilter',
      summary: 'Makes a filter of the hashes of transactions as they are pre-confirmed.',
      rules: ['B6', 'B12'],
      params: [],
      result,
      handle: (_params, context) => create(host, { kind: 'transactions' }, context),
    },
  ];
}

async function create(host: FilterHost, criteria: FilterCriteria, context: MethodContext): Promise<RawJson> {
  const asked = host.ask({ op: 'create', criteria, client: context.client });
  const { filter } = await answerOf(asked, 'created');
  context.whenSettled((isAnswered) => {
    if (!isAnswered) host.tell({ op: 'remove', filter });
  });
  return `"${filter}"`;
}

/** Whether a bound follows the head, which all that a filter tells is at. */
function isOpen(bound: LogBound): boolean {
  return bound.kind === 'number' || bound.tag === 'latest' || bound.tag === 'pending';
}

function readFilter(value: unknown, { settings, snapshot }: MethodContext): FilterCriteria {
  const where = 'invalid argument 0';
  const filter = parseLogFilter(value, where, { ...settings.logs, compat: settings.compat });
  if (filter.blockHash !== undefined) {
    throw new InvalidParamsError(`${where}: a filter is not of one block: blockHash`);
  }
  const { from, to } = filter;
  if (!isOpen(to)) throw new InvalidParamsError(`${where}: toBlock: a filter follows the head`);
  // One that ends before it begins; a number may be of a block to come.
  const isBackwards =
    to.kind === 'number'
      ? snapshot.logBound(from, 'from') > to.number
      : to.tag === 'latest' && from.kind === 'tag' && from.tag === 'pending';
  if (isBackwards) throw new InvalidParamsError('invalid block range params');
  return { kind: 'logs', filter: { ...parseObject(value, where) } };
}
