import { headerOf } from '../../head/block-answers.ts';
import { andThen } from '../../primitives/awaitable.ts';
import type { Method } from '../method.ts';
import { BY_HASH, BY_NUMBER, type NamedBlock } from '../named-block.ts';
import { headerSchema } from '../schemas.ts';

export const ethGetHeaderByNumber = getHeader('eth_getHeaderByNumber', BY_NUMBER);
export const ethGetHeaderByHash = getHeader('eth_getHeaderByHash', BY_HASH);

function getHeader(name: string, block: NamedBlock): Method {
  return {
    name,
    summary: 'The header of a block.',
    rules: ['B5', 'B6', 'B12'],
    params: [block.param],
    result: {
      name: 'header',
      description: 'Null for a block that is not known. A pre-confirmed one has a hash of zero.',
      schema: { oneOf: [{ type: 'null' }, headerSchema] },
    },
    handle(params, { snapshot }) {
      return andThen(headerOf(snapshot, block.read(params[0])), (json) => json ?? 'null');
    },
  };
}
