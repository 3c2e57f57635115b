import { toQuantity } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { quantitySchema } from '../schemas.ts';
import { suggestedTip } from './suggested-tip.ts';

export const ethGasPrice: Method = {
  name: 'eth_gasPrice',
  summary: 'A gas price that gets a transaction into one of the next blocks, in wei.',
  rules: ['B12'],
  params: [],
  result: {
    name: 'price',
    description: 'What eth_maxPriorityFeePerGas suggests, and the base fee of the head.',
    schema: quantitySchema,
  },
  async handle(_params, context) {
    const { snapshot, settings } = context;
    const fees = await settings.services.fees.fees(snapshot, snapshot.head.number);
    return `"${toQuantity((await suggestedTip(context)) + (fees?.baseFee ?? 0n))}"`;
  },
};
