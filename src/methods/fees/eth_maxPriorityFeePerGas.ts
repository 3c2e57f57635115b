import { toQuantity } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { quantitySchema } from '../schemas.ts';
import { suggestedTip } from './suggested-tip.ts';

export const ethMaxPriorityFeePerGas: Method = {
  name: 'eth_maxPriorityFeePerGas',
  summary: 'A tip that gets a transaction into one of the next blocks, in wei.',
  rules: ['B12'],
  params: [],
  result: {
    name: 'tip',
    description:
      'Of the three lowest tips of each of the last 20 blocks, the one that 60 % do not exceed; tips below 2 wei and those of the builder itself do not count, and a block without any counts as one tip of 1,000,000 wei. ' +
      'On OP-stack chains 1,000,000 wei, unless the last block was full: then a tenth more than the median of its tips, deposits as zero, if that is more.',
    schema: quantitySchema,
  },
  async handle(_params, context) {
    return `"${toQuantity(await suggestedTip(context))}"`;
  },
};
