import { parseBlockSelector } from '../../primitives/block-selector.ts';
import type { Method } from '../method.ts';
import { blockParam, quantitySchema } from '../schemas.ts';
import { blockOverridesParam, stateOverridesParam, transactionParam } from './call-params.ts';
import { parseCallRequest } from './call-request.ts';
import { queryCall } from './query-call.ts';

export const ethEstimateGas: Method = {
  name: 'eth_estimateGas',
  summary:
    'The least gas that a transaction succeeds with, up to 1.5 % more, as geth searches for it: of the gas given or ' +
    "the block's limit, the cap of the fork, what the sender can pay for, and the cap of calls. " +
    'On OP chains the fee for L1 is not part of it.',
  rules: ['B5', 'B6', 'B7', 'B12', 'B17'],
  cost: 10,
  params: [transactionParam([]), blockParam, stateOverridesParam, blockOverridesParam],
  result: { name: 'gas', description: 'The gas limit to send it with.', schema: quantitySchema },
  handle(params, context) {
    const { chainId, gasCap } = context.settings;
    const rules = { chainId, gasCap, requireTo: false, defaultGas: 0n };
    const request = parseCallRequest(params[0], params[2], params[3], rules);
    const selector = parseBlockSelector(params[1], 'invalid argument 1');
    return queryCall(
      { estimate: Number(gasCap) },
      request,
      { method: 'eth_estimateGas', params, selector, at: 1 },
      context,
    );
  },
};
