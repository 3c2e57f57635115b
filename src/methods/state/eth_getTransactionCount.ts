import { parseBlockSelector } from '../../primitives/block-selector.ts';
import { parseAddress } from '../../primitives/parse.ts';
import { readState } from '../forwarding.ts';
import type { Method } from '../method.ts';
import { addressParam, blockParam, quantitySchema } from '../schemas.ts';

export const ethGetTransactionCount: Method = {
  name: 'eth_getTransactionCount',
  summary: 'The nonce of an account.',
  rules: ['A9', 'B5', 'B6'],
  params: [addressParam, blockParam],
  result: { name: 'nonce', description: 'From executed state.', schema: quantitySchema },
  handle(params, context) {
    const address = parseAddress(params[0], 'invalid argument 0');
    const selector = parseBlockSelector(params[1], 'invalid argument 1');
    return readState(selector, { read: 'nonce', address }, context, (view) =>
      view.transactionCount(address, context),
    );
  },
};
