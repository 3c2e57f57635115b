import type { Call } from '../../support/servers/rpc-client.ts';
import type { Chain } from '../context.ts';
import { asFields, type Fields, holds, paramsOf, withParam } from '../request-shape.ts';
import { type Deviation, errorOf, isEmptyList, refuses } from './deviation.ts';

const responseLimit = 10 * 1024 * 1024 - 1024;

function filterOf(request: Call): Fields | undefined {
  return request.method === 'eth_getLogs' ? asFields(paramsOf(request)[0]) : undefined;
}

/** Deviations in ranges and limits of logs. */
export const logDeviations = (chain: Chain): readonly Deviation[] => [
  {
    id: 'blockhash-wins',
    contractOnly: true,
    means: (request) => {
      const filter = filterOf(request);
      if (filter === undefined || typeof filter['blockHash'] !== 'string') return undefined;
      if (filter['fromBlock'] == null && filter['toBlock'] == null) return undefined;
      const { fromBlock: _from, toBlock: _to, ...rest } = filter;
      return { call: withParam(request, 0, rest) };
    },
    // A bound that is ignored may still have to be readable.
    allows: ({ request, ours }) =>
      request.method === 'eth_getLogs' && refuses(ours) && holds(request, (key) => key === 'blockHash'),
  },
  {
    id: 'latest-bound',
    means: (request) => {
      const filter = filterOf(request);
      if (filter === undefined || filter['blockHash'] != null) return undefined;
      const [from, to] = [filter['fromBlock'] ?? 'latest', filter['toBlock'] ?? 'latest'];
      if (from !== 'latest' || to === 'latest' || to === 'pending') return undefined;
      return { call: withParam(request, 0, { ...filter, fromBlock: `0x${chain.head.toString(16)}` }) };
    },
  },
  {
    id: 'response-limit',
    allows: ({ geth, ours }) =>
      'result' in geth &&
      /max results|max response size|response too large|trace is too large/.test(
        errorOf(ours)?.message ?? '',
      ) &&
      JSON.stringify(geth.result).length > responseLimit,
  },
  {
    id: 'range-code',
    allows: ({ geth, ours }) =>
      errorOf(geth)?.kind === 'range' &&
      refuses(ours) &&
      ['range', 'beyond head'].includes(errorOf(ours)?.kind ?? ''),
  },
  {
    id: 'range-empty',
    allows: ({ geth, ours }) => isEmptyList(geth) && errorOf(ours)?.message === 'invalid block range params',
  },
  {
    id: 'criteria-limit',
    allows: ({ geth, ours }) => errorOf(geth)?.kind === 'criteria limit' && refuses(ours),
  },
];
