import { toQuantity } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { quantitySchema } from '../schemas.ts';

export const ethChainId: Method = {
  name: 'eth_chainId',
  summary: 'The chain id.',
  rules: ['B12'],
  params: [],
  result: { name: 'chainId', description: 'As a quantity.', schema: quantitySchema },
  handle(_params, { settings }) {
    return `"${toQuantity(settings.chainId)}"`;
  },
};
