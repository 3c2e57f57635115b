import type { JsonSchema, ParamDoc } from '../method.ts';
import {
  anyAddress,
  anyBytes,
  anyHash,
  anyUint64,
  anyUint256,
  optionalFields,
  orNull,
} from '../param-schemas.ts';

const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });
const all = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
});
/** What is not implemented is refused, never ignored. */
const only = (fields: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties: optionalFields(fields),
  additionalProperties: false,
});

const transactionFields = optionalFields({
  from: anyAddress,
  to: anyAddress,
  gas: anyUint64,
  gasPrice: anyUint256,
  maxFeePerGas: anyUint256,
  maxPriorityFeePerGas: anyUint256,
  maxFeePerBlobGas: anyUint256,
  value: anyUint256,
  nonce: anyUint64,
  chainId: anyUint256,
  data: anyBytes,
  input: anyBytes,
  accessList: listOf(all({ address: anyAddress, storageKeys: listOf(anyHash) })),
  authorizationList: listOf(
    all({
      chainId: anyUint256,
      address: anyAddress,
      nonce: anyUint64,
      yParity: anyUint64,
      r: anyUint256,
      s: anyUint256,
    }),
  ),
  blobVersionedHashes: listOf(anyHash),
});

/** The call object. */
export const callSchema: JsonSchema = { type: 'object', properties: transactionFields };

/** The call object, with the fields that must be there. */
export function transactionParam(required: readonly 'to'[]): ParamDoc {
  const to = required.length > 0 ? '`to` (required)' : '`to` (a contract is created without it)';
  return {
    name: 'transaction',
    required: true,
    description:
      `${to}, \`from\` (zero address), \`gas\` (the cap), \`gasPrice\` or \`maxFeePerGas\` and ` +
      '`maxPriorityFeePerGas`, `value`, `data` or `input`, `accessList`, `authorizationList`.',
    schema:
      required.length > 0
        ? { type: 'object', required, properties: { ...transactionFields, to: anyAddress } }
        : callSchema,
  };
}

const slots: JsonSchema = { type: 'object', propertyNames: anyHash, additionalProperties: anyHash };
const accountFields = {
  balance: anyUint256,
  nonce: anyUint64,
  code: anyBytes,
  state: slots,
  stateDiff: slots,
};
const blockFields = {
  number: anyUint256,
  difficulty: anyUint256,
  time: anyUint64,
  gasLimit: anyUint64,
  feeRecipient: anyAddress,
  prevRandao: anyHash,
  baseFeePerGas: anyUint256,
  blobBaseFee: anyUint256,
};
const byAddress = (account: JsonSchema): JsonSchema => ({
  type: 'object',
  propertyNames: anyAddress,
  additionalProperties: account,
});

export const stateOverridesParam: ParamDoc = {
  name: 'stateOverrides',
  required: false,
  description: 'By address: `balance`, `nonce`, `code`, and `state` (all of it) or `stateDiff` (per slot).',
  schema: byAddress(only(accountFields)),
};

export const blockOverridesParam: ParamDoc = {
  name: 'blockOverrides',
  required: false,
  description:
    '`number`, `difficulty`, `time`, `gasLimit`, `feeRecipient`, `prevRandao`, `baseFeePerGas`, `blobBaseFee`.',
  schema: only(blockFields),
};

const withdrawal = all({
  index: anyUint64,
  validatorIndex: anyUint64,
  address: anyAddress,
  amount: anyUint64,
});

/** One block of a simulation. */
export const simulatedBlockSchema: JsonSchema = {
  type: 'object',
  properties: {
    blockOverrides: orNull(only({ ...blockFields, beaconRoot: anyHash, withdrawals: listOf(withdrawal) })),
    stateOverrides: orNull(byAddress(only({ ...accountFields, movePrecompileToAddress: anyAddress }))),
    calls: orNull(listOf(callSchema)),
  },
};
