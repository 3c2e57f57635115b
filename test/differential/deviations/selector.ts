import { asFields, blockIndex, type Fields, holds, paramsOf, withParam } from '../request-shape.ts';
import { type Deviation, errorOf, isEmptyList, type Meaning, refuses } from './deviation.ts';

const isPending = (selector: unknown): boolean =>
  selector === 'pending' || asFields(selector)?.['blockNumber'] === 'pending';

function pendingLogs(filter: Fields): Meaning | undefined {
  const [from, to, address] = [filter['fromBlock'], filter['toBlock'], filter['address']];
  const isRead = address == null || typeof address === 'string' || Array.isArray(address);
  if (from === 'pending' && to === 'pending' && isRead) return { answer: { result: [] } };
  if (to !== 'pending') return undefined;
  return { call: { method: 'eth_getLogs', params: [{ ...filter, toBlock: 'latest' }] } };
}

/** Whose block may be left out (B5); geth's eth_call may be asked without one too. */
const stateMethods: readonly string[] = [
  'eth_getStorageAt',
  'eth_getTransactionCount',
  'eth_getBalance',
  'eth_getCode',
  'eth_getProof',
];

const storageMethods: readonly string[] = ['eth_getStorageAt', 'eth_getProof'];

/** Deviations in how a block, and any parameter, is written. */
export const selectorDeviations: readonly Deviation[] = [
  {
    id: 'block-omitted',
    means: (request) => {
      const at = blockIndex(request.method);
      if (!stateMethods.includes(request.method)) return undefined;
      return paramsOf(request).length === at ? { call: withParam(request, at, 'latest') } : undefined;
    },
  },
  {
    id: 'block-null',
    means: (request) => {
      const at = blockIndex(request.method);
      const params = paramsOf(request);
      const isNull = at > 0 && params.length > at && params[at] === null;
      return isNull ? { call: withParam(request, at, 'latest') } : undefined;
    },
    allows: ({ request, ours }) => paramsOf(request)[blockIndex(request.method)] === null && refuses(ours),
  },
  {
    id: 'pending',
    means: (request) => {
      const params = paramsOf(request);
      if (request.method === 'eth_getLogs') {
        const filter = asFields(params[0]);
        // With more parameters than the method has, both refuse.
        const isPlain = params.length === 1 && filter !== undefined && filter['blockHash'] == null;
        return isPlain ? pendingLogs(filter) : undefined;
      }
      const at = blockIndex(request.method);
      if (!isPending(params[at])) return undefined;
      return { call: withParam(request, at, 'latest') };
    },
    // From `pending` to something older is empty or reversed, as one looks at it.
    allows: ({ request, geth, ours }) =>
      request.method === 'eth_getLogs' &&
      errorOf(geth)?.kind === 'pending logs' &&
      (refuses(ours) || isEmptyList(ours)),
  },
  {
    id: 'unknown-block',
    allows: ({ geth, ours }) =>
      errorOf(geth)?.kind === 'block not found' &&
      errorOf(ours)?.code === -32001 &&
      errorOf(ours)?.message.startsWith('block not found: ') === true,
  },
  {
    id: 'selector-object',
    allows: ({ geth, ours }) => errorOf(geth)?.kind === 'no block' && refuses(ours),
  },
  {
    id: 'storage-key',
    allows: ({ request, geth, ours }) =>
      storageMethods.includes(request.method) &&
      refuses(ours) &&
      ['storage key', 'block not found'].includes(errorOf(geth)?.kind ?? ''),
  },
  {
    id: 'lax-hex',
    allows: ({ request, ours }) =>
      refuses(ours) &&
      (holds(request, (_, value) => value === '' || (typeof value === 'string' && value.startsWith('0X'))) ||
        (storageMethods.includes(request.method) &&
          [paramsOf(request)[1]].flat().some((key) => !String(key).startsWith('0x')))),
  },
  {
    id: 'null-object',
    allows: ({ request, ours }) => refuses(ours) && holds(request, (_, value) => value === null),
  },
];
