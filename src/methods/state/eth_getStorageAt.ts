import { parseBlockSelector } from '../../primitives/block-selector.ts';
import { parseAddress, parseString } from '../../primitives/parse.ts';
import { readState } from '../forwarding.ts';
import type { Method } from '../method.ts';
import { anySlot } from '../param-schemas.ts';
import { addressParam, blockParam, hashSchema } from '../schemas.ts';
import { parseSlot } from './storage-key.ts';

export const ethGetStorageAt: Method = {
  name: 'eth_getStorageAt',
  summary: 'The value of a storage slot.',
  rules: ['A8', 'B5', 'B6'],
  params: [
    addressParam,
    {
      name: 'position',
      required: true,
      description: 'The slot: at most 32 bytes of hex, with or without 0x and leading zeros.',
      schema: anySlot,
    },
    blockParam,
  ],
  result: { name: 'value', description: 'Always 32 bytes.', schema: hashSchema },
  handle(params, context) {
    const address = parseAddress(params[0], 'invalid argument 0');
    const slot = parseSlot(parseString(params[1], 'invalid argument 1'));
    const selector = parseBlockSelector(params[2], 'invalid argument 2');
    return readState(selector, { read: 'slot', address, slot }, context, (view) =>
      view.storageAt(address, slot, context),
    );
  },
};
