import { blockOf } from '../../head/block-answers.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { parseBoolean } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { BY_HASH, BY_NUMBER, type NamedBlock } from '../named-block.ts';
import { blockSchema } from '../schemas.ts';

export const ethGetBlockByNumber = getBlock('eth_getBlockByNumber', BY_NUMBER);
export const ethGetBlockByHash = getBlock('eth_getBlockByHash', BY_HASH);

function getBlock(name: string, block: NamedBlock): Method {
  return {
    name,
    summary: 'A block, with its transactions or their hashes.',
    rules: ['B5', 'B6', 'B12'],
    cost: 2,
    params: [
      block.param,
      {
        name: 'whole',
        required: true,
        description: 'Whether transactions are listed whole, or by hash.',
        schema: { type: 'boolean' },
      },
    ],
    result: {
      name: 'block',
      description: 'Null for a block that is not known. A pre-confirmed one has a hash of zero.',
      schema: { oneOf: [{ type: 'null' }, blockSchema] },
    },
    handle(params, { snapshot }) {
      const selector = block.read(params[0]);
      const listing = parseBoolean(params[1], 'invalid argument 1') ? 'whole' : 'hashes';
      return andThen(blockOf(snapshot, selector, listing), (json) => json ?? 'null');
    },
  };
}
