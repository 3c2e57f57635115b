import { andThen } from '../../primitives/awaitable.ts';
import { toQuantity } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { quantitySchema } from '../schemas.ts';

export const ethBaseFee: Method = {
  name: 'eth_baseFee',
  summary: 'The base fee of the next block, in wei.',
  rules: ['B12'],
  params: [],
  result: {
    name: 'fee',
    description: 'Of the block after the newest one, pre-confirmed ones included. Null before London.',
    schema: { oneOf: [{ type: 'null' }, quantitySchema] },
  },
  handle(_params, { snapshot, settings }) {
    const newest = snapshot.pending?.newest.number ?? snapshot.head.number;
    return andThen(settings.services.fees.fees(snapshot, newest), (fees) =>
      fees?.nextBaseFee === undefined ? 'null' : `"${toQuantity(fees.nextBaseFee)}"`,
    );
  },
};
