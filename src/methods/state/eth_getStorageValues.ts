import { parseBlockSelector } from '../../primitives/block-selector.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import { parseAddress, parseArray, parseHash, parseObject } from '../../primitives/parse.ts';
import { readFrom } from '../forwarding.ts';
import type { Method } from '../method.ts';
import { anyAddress, anyHash } from '../param-schemas.ts';
import { blockParam, hashSchema } from '../schemas.ts';

/** As in the other clients that have the method. */
const MAX_SLOTS = 1_024;

const valuesSchema = { type: 'object', additionalProperties: { type: 'array', items: hashSchema } };

export const ethGetStorageValues: Method = {
  name: 'eth_getStorageValues',
  summary: 'The values of several storage slots of several accounts, at one block.',
  rules: ['B5', 'B6', 'B12'],
  cost: 5,
  params: [
    {
      name: 'slots',
      required: true,
      description: `Slots by account, each 32 bytes; at most ${MAX_SLOTS} in all.`,
      schema: {
        type: 'object',
        propertyNames: anyAddress,
        additionalProperties: { type: 'array', items: anyHash },
      },
    },
    blockParam,
  ],
  result: { name: 'values', description: 'By account, in the order asked for.', schema: valuesSchema },
  async handle(params, context) {
    const asked = parseSlots(params[0]);
    const selector = parseBlockSelector(params[1], 'invalid argument 1');
    const view = await context.snapshot.viewAt(selector);
    const values = asked.map(async ([address, slots]) => {
      const all = slots.map(async (slot) =>
        readFrom(view, { read: 'slot', address, slot }, context, () =>
          view.storageAt(address, slot, context),
        ),
      );
      return `"${address}":[${(await Promise.all(all)).map((value) => `"${value}"`).join()}]`;
    });
    return `{${(await Promise.all(values)).join()}}`;
  },
};

function parseSlots(value: unknown): readonly (readonly [Hex, readonly Hex[]])[] {
  const where = 'invalid argument 0';
  const asked = Object.entries(parseObject(value, where)).map(
    ([name, slots]) =>
      [
        parseAddress(name, where),
        parseArray(slots, `${where}: ${name}`).map((slot) => parseHash(slot, `${where}: ${name}`)),
      ] as const,
  );
  const count = asked.reduce((sum, [, slots]) => sum + slots.length, 0);
  if (count === 0) throw new InvalidParamsError('empty request');
  if (count > MAX_SLOTS) throw new InvalidParamsError(`too many slots (max ${MAX_SLOTS})`);
  return asked;
}
