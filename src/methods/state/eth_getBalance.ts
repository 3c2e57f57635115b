import { parseBlockSelector } from '../../primitives/block-selector.ts';
import { parseAddress } from '../../primitives/parse.ts';
import { readState } from '../forwarding.ts';
import type { Method } from '../method.ts';
import { addressParam, blockParam, quantitySchema } from '../schemas.ts';

export const ethGetBalance: Method = {
  name: 'eth_getBalance',
  summary: 'The balance of an account, in wei.',
  rules: ['B5', 'B6', 'B12'],
  params: [addressParam, blockParam],
  result: { name: 'balance', description: 'Zero where there is no account.', schema: quantitySchema },
  handle(params, context) {
    const address = parseAddress(params[0], 'invalid argument 0');
    const selector = parseBlockSelector(params[1], 'invalid argument 1');
    return readState(selector, { read: 'balance', address }, context, (view) =>
      view.balance(address, context),
    );
  },
};
