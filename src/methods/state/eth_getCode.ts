import { parseBlockSelector } from '../../primitives/block-selector.ts';
import { parseAddress } from '../../primitives/parse.ts';
import { readState } from '../forwarding.ts';
import type { Method } from '../method.ts';
import { addressParam, blockParam, bytesSchema } from '../schemas.ts';

export const ethGetCode: Method = {
  name: 'eth_getCode',
  summary: 'The code of an account.',
  rules: ['B5', 'B6', 'B12'],
  params: [addressParam, blockParam],
  result: {
    name: 'code',
    description: 'Empty where there is none; of an account with a delegation (EIP-7702), the designator.',
    schema: bytesSchema,
  },
  handle(params, context) {
    const address = parseAddress(params[0], 'invalid argument 0');
    const selector = parseBlockSelector(params[1], 'invalid argument 1');
    return readState(selector, { read: 'code', address }, context, (view) => view.code(address, context));
  },
};
