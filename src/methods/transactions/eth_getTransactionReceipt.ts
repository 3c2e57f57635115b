import { receiptOf } from '../../head/block-answers.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { parseHashArgument } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { receiptSchema, transactionHashParam } from '../schemas.ts';

export const ethGetTransactionReceipt: Method = {
  name: 'eth_getTransactionReceipt',
  summary: 'The receipt of a transaction, pre-confirmed or confirmed, with its logs.',
  rules: ['B6', 'B12'],
  params: [transactionHashParam],
  result: {
    name: 'receipt',
    description: 'Null where there is none with this hash.',
    schema: { oneOf: [{ type: 'null' }, receiptSchema] },
  },
  handle(params, { snapshot }) {
    const hash = parseHashArgument(params[0], 'invalid argument 0');
    return andThen(receiptOf(snapshot, hash), (json) => json ?? 'null');
  },
};
