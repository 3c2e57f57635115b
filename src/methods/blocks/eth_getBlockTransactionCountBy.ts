import { transactionCountOf } from '../../head/block-answers.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { toQuantity } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { BY_HASH, BY_NUMBER, type NamedBlock } from '../named-block.ts';
import { quantitySchema } from '../schemas.ts';

export const ethGetBlockTransactionCountByNumber = getCount(
  'eth_getBlockTransactionCountByNumber',
  BY_NUMBER,
);
export const ethGetBlockTransactionCountByHash = getCount('eth_getBlockTransactionCountByHash', BY_HASH);

function getCount(name: string, block: NamedBlock): Method {
  return {
    name,
    summary: 'How many transactions a block has.',
    rules: ['B5', 'B6', 'B12'],
    params: [block.param],
    result: {
      name: 'count',
      description: 'Null for a block that is not known.',
      schema: { oneOf: [{ type: 'null' }, quantitySchema] },
    },
    handle(params, { snapshot }) {
      return andThen(transactionCountOf(snapshot, block.read(params[0])), (count) =>
        count === undefined ? 'null' : `"${toQuantity(count)}"`,
      );
    },
  };
}
