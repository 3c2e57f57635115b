import { toQuantity } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { quantitySchema } from '../schemas.ts';

export const ethBlockNumber: Method = {
  name: 'eth_blockNumber',
  summary: 'The number of the confirmed head.',
  rules: ['B12'],
  params: [],
  result: { name: 'number', description: 'The block that `latest` means.', schema: quantitySchema },
  handle(_params, { snapshot }) {
    return `"${toQuantity(snapshot.head.number)}"`;
  },
};
