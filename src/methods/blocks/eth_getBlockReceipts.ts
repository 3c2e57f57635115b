import { andThen } from '../../primitives/awaitable.ts';
import { parseBlockSelector } from '../../primitives/block-selector.ts';
import type { Method } from '../method.ts';
import { receiptSchema, selectorSchema } from '../schemas.ts';

export const ethGetBlockReceipts: Method = {
  name: 'eth_getBlockReceipts',
  summary: 'The receipts of all transactions of a block, with their logs.',
  rules: ['A7', 'B2', 'B5', 'B6'],
  params: [
    {
      name: 'block',
      required: true,
      description: 'Hex number, tag, block hash or EIP-1898 object.',
      schema: selectorSchema,
    },
  ],
  result: {
    name: 'receipts',
    description: 'One receipt per transaction, in order; null for a block that is not known.',
    schema: {
      oneOf: [
        { type: 'null' },
        {
          type: 'array',
          items: receiptSchema,
        },
      ],
    },
  },
  handle(params, { snapshot }) {
    const selector = parseBlockSelector(params[0], 'invalid argument 0');
    return andThen(snapshot.receiptsAt(selector), (json) => json ?? 'null');
  },
};
