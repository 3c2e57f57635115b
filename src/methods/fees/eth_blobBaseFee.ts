import { andThen } from '../../primitives/awaitable.ts';
import { toQuantity } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { quantitySchema } from '../schemas.ts';

export const ethBlobBaseFee: Method = {
  name: 'eth_blobBaseFee',
  summary: 'What a unit of blob gas costs in the head, in wei.',
  rules: ['B12'],
  params: [],
  result: {
    name: 'fee',
    description: 'Null before there are blobs; 1 on OP-stack chains, which have none.',
    schema: { oneOf: [{ type: 'null' }, quantitySchema] },
  },
  handle(_params, { snapshot, settings }) {
    return andThen(settings.services.fees.fees(snapshot, snapshot.head.number), (fees) =>
      fees?.blobs === undefined ? 'null' : `"${toQuantity(fees.blobs.fee)}"`,
    );
  },
};
