import { parseBlockSelector } from '../../primitives/block-selector.ts';
import type { Method } from '../method.ts';
import { addressSchema, blockParam, hashSchema, quantitySchema } from '../schemas.ts';
import { stateOverridesParam, transactionParam } from './call-params.ts';
import { parseCallRequest } from './call-request.ts';
import { queryCall } from './query-call.ts';

export const ethCreateAccessList: Method = {
  name: 'eth_createAccessList',
  summary:
    'The accounts and slots that a transaction touches, as an access list, and the gas it uses with that list. What is ' +
    'warm anyway is not in it: precompiles, the sender, the recipient and accounts that sign authorizations, but for slots of theirs.',
  rules: ['B5', 'B6', 'B7', 'B12', 'B17'],
  cost: 10,
  params: [transactionParam([]), blockParam, stateOverridesParam],
  result: {
    name: 'accessList',
    description: 'In order of addresses and slots. `error` says how the transaction fails, where it does.',
    schema: {
      type: 'object',
      required: ['accessList', 'gasUsed'],
      properties: {
        accessList: {
          type: 'array',
          items: {
            type: 'object',
            required: ['address', 'storageKeys'],
            properties: { address: addressSchema, storageKeys: { type: 'array', items: hashSchema } },
          },
        },
        error: { type: 'string' },
        gasUsed: quantitySchema,
      },
    },
  },
  handle(params, context) {
    const { chainId, gasCap } = context.settings;
    const request = parseCallRequest(params[0], params[2], undefined, { chainId, gasCap, requireTo: false });
    const selector = parseBlockSelector(params[1], 'invalid argument 1');
    return queryCall(
      'accessList',
      request,
      { method: 'eth_createAccessList', params, selector, at: 1 },
      context,
    );
  },
};
