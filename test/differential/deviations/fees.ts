import { isDeepStrictEqual } from 'node:util';
import type { Answer } from '../../support/servers/rpc-client.ts';
import { asFields, type Fields, paramsOf } from '../request-shape.ts';
import type { Deviation } from './deviation.ts';

/** The first block of the official chain that has blobs. */
const FIRST_WITH_BLOBS = 42;

function historyOf(answer: Answer): Fields | undefined {
  return 'result' in answer ? asFields(answer.result) : undefined;
}

/** Deviations in what is said of fees. */
export const feeDeviations: readonly Deviation[] = [
  {
    id: 'no-percentiles',
    means: (request) => {
      const params = paramsOf(request);
      if (request.method !== 'eth_feeHistory' || params.length !== 2) return undefined;
      return { call: { ...request, params: [...params, []] } };
    },
  },
  {
    id: 'first-blob-fee',
    allows: ({ request, geth, ours }) => {
      const [theirs, own] = [historyOf(geth), historyOf(ours)];
      if (request.method !== 'eth_feeHistory' || theirs === undefined || own === undefined) return false;
      const at = FIRST_WITH_BLOBS - Number(theirs['oldestBlock']);
      const fees = theirs['baseFeePerBlobGas'] as readonly string[];
      if (fees[at] !== '0x0') return false;
      return isDeepStrictEqual({ ...theirs, baseFeePerBlobGas: fees.with(at, '0x1') }, own);
    },
  },
];
