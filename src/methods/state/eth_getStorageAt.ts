import { parseBlockSelector } from '../../primitives/block-selector.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import { isHexFrom, parseAddress, parseString } from '../../primitives/parse.ts';
import { readState } from '../forwarding.ts';
import type { Method } from '../method.ts';
import { addressParam, blockParam, hashSchema } from '../schemas.ts';

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
      schema: { type: 'string' },
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

/** Storage keys come in every shape from real clients; the standard takes them all, and words the two errors. */
function parseSlot(text: string): Hex {
  const start = text.startsWith('0x') || text.startsWith('0X') ? 2 : 0;
  if (text.length - start > 64) {
    throw new InvalidParamsError(`storage key too long (want at most 32 bytes): ${JSON.stringify(text)}`);
  }
  if (!isHexFrom(text, start)) {
    throw new InvalidParamsError(`invalid hex in storage key: ${JSON.stringify(text)}`);
  }
  return `0x${text.slice(start).toLowerCase().padStart(64, '0')}`;
}
