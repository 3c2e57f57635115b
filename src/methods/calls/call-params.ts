import type { ParamDoc } from '../method.ts';
import { addressSchema, bytesSchema, quantitySchema } from '../schemas.ts';

/** The call object, with the fields that must be there. */
export function transactionParam(required: readonly 'to'[]): ParamDoc {
  const to = required.length > 0 ? '`to` (required)' : '`to` (a contract is created without it)';
  return {
    name: 'transaction',
    required: true,
    description:
      `${to}, \`from\` (zero address), \`gas\` (the cap), \`gasPrice\` or \`maxFeePerGas\` and ` +
      '`maxPriorityFeePerGas`, `value`, `data` or `input`, `accessList`, `authorizationList`.',
    schema: {
      type: 'object',
      ...(required.length > 0 && { required }),
      properties: {
        from: addressSchema,
        to: addressSchema,
        gas: quantitySchema,
        gasPrice: quantitySchema,
        maxFeePerGas: quantitySchema,
        maxPriorityFeePerGas: quantitySchema,
        value: quantitySchema,
        data: bytesSchema,
        input: bytesSchema,
      },
    },
  };
}

export const stateOverridesParam: ParamDoc = {
  name: 'stateOverrides',
  required: false,
  description: 'By address: `balance`, `nonce`, `code`, and `state` (all of it) or `stateDiff` (per slot).',
  schema: { type: 'object' },
};

export const blockOverridesParam: ParamDoc = {
  name: 'blockOverrides',
  required: false,
  description:
    '`number`, `difficulty`, `time`, `gasLimit`, `feeRecipient`, `prevRandao`, `baseFeePerGas`, `blobBaseFee`.',
  schema: { type: 'object' },
};
