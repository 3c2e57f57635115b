import type { JsonSchema, ParamDoc } from './method.ts';
import { anyAddress, anyHash, anySelector } from './param-schemas.ts';

export const quantitySchema: JsonSchema = { type: 'string', pattern: '^0x(0|[1-9a-f][0-9a-f]*)$' };
export const addressSchema: JsonSchema = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' };
export const hashSchema: JsonSchema = { type: 'string', pattern: '^0x[0-9a-f]{64}$' };
export const bytesSchema: JsonSchema = { type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$' };

export const blockParam: ParamDoc = {
  name: 'block',
  required: false,
  description: 'Hex number, tag, block hash or EIP-1898 object. Default: `latest`.',
  schema: anySelector,
};

export const requiredBlockParam: ParamDoc = {
  ...{ name: 'block', required: true, schema: anySelector },
  description: 'Hex number, tag, block hash or EIP-1898 object.',
};

export const addressParam: ParamDoc = {
  name: 'address',
  required: true,
  description: 'The account.',
  schema: anyAddress,
};

export const transactionHashParam: ParamDoc = {
  name: 'hash',
  required: true,
  description: 'The hash of the transaction.',
  schema: anyHash,
};

export const logSchema: JsonSchema = {
  type: 'object',
  required: [
    'address',
    'topics',
    'data',
    'blockNumber',
    'transactionHash',
    'transactionIndex',
    'blockHash',
    'blockTimestamp',
    'logIndex',
    'removed',
  ],
  properties: {
    address: addressSchema,
    topics: { type: 'array', items: hashSchema, maxItems: 4 },
    data: bytesSchema,
    blockNumber: quantitySchema,
    transactionHash: hashSchema,
    transactionIndex: quantitySchema,
    blockHash: hashSchema,
    blockTimestamp: quantitySchema,
    logIndex: quantitySchema,
    removed: { type: 'boolean' },
  },
};

export const headerSchema: JsonSchema = {
  type: 'object',
  required: ['hash', 'number', 'parentHash', 'timestamp', 'gasUsed', 'stateRoot'],
  properties: {
    hash: hashSchema,
    number: quantitySchema,
    parentHash: hashSchema,
    timestamp: quantitySchema,
    gasUsed: quantitySchema,
    stateRoot: hashSchema,
  },
};

export const transactionSchema: JsonSchema = {
  type: 'object',
  required: ['hash', 'blockHash', 'blockNumber', 'transactionIndex', 'from', 'type'],
  properties: {
    hash: hashSchema,
    blockHash: hashSchema,
    blockNumber: quantitySchema,
    transactionIndex: quantitySchema,
    from: addressSchema,
    type: quantitySchema,
  },
};

export const receiptSchema: JsonSchema = {
  type: 'object',
  properties: {
    transactionHash: hashSchema,
    blockNumber: quantitySchema,
    status: quantitySchema,
    gasUsed: quantitySchema,
    type: quantitySchema,
    from: addressSchema,
    logsBloom: bytesSchema,
    logs: { type: 'array', items: logSchema },
  },
};

export const blockSchema: JsonSchema = {
  allOf: [
    headerSchema,
    {
      type: 'object',
      required: ['size', 'transactions', 'uncles'],
      properties: {
        size: quantitySchema,
        transactions: { type: 'array', items: { oneOf: [hashSchema, transactionSchema] } },
        uncles: { type: 'array', items: hashSchema },
      },
    },
  ],
};
