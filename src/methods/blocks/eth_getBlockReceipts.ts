import { receiptsOf } from '../../head/block-answers.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { parseBlockSelector } from '../../primitives/block-selector.ts';
import type { Method } from '../method.ts';
import { receiptSchema, requiredBlockParam } from '../schemas.ts';

export const ethGetBlockReceipts: Method = {
  name: 'eth_getBlockReceipts',
  summary: 'The receipts of all transactions of a block, with their logs.',
  rules: ['A7', 'B2', 'B5', 'B6'],
  cost: 5,
  dedicatedOnly: true,
  params: [requiredBlockParam],
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
    return andThen(receiptsOf(snapshot, selector), (json) => json ?? 'null');
  },
};
