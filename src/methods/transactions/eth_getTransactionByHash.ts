import { transactionOf } from '../../head/block-answers.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { parseHashArgument } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { transactionHashParam, transactionSchema } from '../schemas.ts';

export const ethGetTransactionByHash: Method = {
  name: 'eth_getTransactionByHash',
  summary: 'A transaction, pre-confirmed or confirmed.',
  rules: ['B6', 'B12'],
  params: [transactionHashParam],
  result: {
    name: 'transaction',
    description:
      'Null where there is none with this hash: those that wait to be put into a block are not known here.',
    schema: { oneOf: [{ type: 'null' }, transactionSchema] },
  },
  handle(params, { snapshot }) {
    const hash = parseHashArgument(params[0], 'invalid argument 0');
    return andThen(transactionOf(snapshot, hash), (json) => json ?? 'null');
  },
};
