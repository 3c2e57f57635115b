import { transactionAt } from '../../head/block-answers.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { parseUint64 } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { BY_HASH, BY_NUMBER, type NamedBlock } from '../named-block.ts';
import { anyIndex } from '../param-schemas.ts';
import { transactionSchema } from '../schemas.ts';

export const ethGetTransactionByBlockNumberAndIndex = getTransaction(
  'eth_getTransactionByBlockNumberAndIndex',
  BY_NUMBER,
);
export const ethGetTransactionByBlockHashAndIndex = getTransaction(
  'eth_getTransactionByBlockHashAndIndex',
  BY_HASH,
);

function getTransaction(name: string, block: NamedBlock): Method {
  return {
    name,
    summary: 'A transaction, by its place in a block.',
    rules: ['B5', 'B6', 'B12'],
    params: [block.param, { name: 'index', required: true, description: 'From 0 on.', schema: anyIndex }],
    result: {
      name: 'transaction',
      description: 'Null where there is none.',
      schema: { oneOf: [{ type: 'null' }, transactionSchema] },
    },
    handle(params, { snapshot }) {
      const selector = block.read(params[0]);
      const index = Number(parseUint64(params[1], 'invalid argument 1'));
      return andThen(transactionAt(snapshot, selector, index), (json) => json ?? 'null');
    },
  };
}
