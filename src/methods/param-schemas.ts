import type { JsonSchema } from './method.ts';

/**
 * What parameters may be, as their readers take it: hex in either case, and an empty string where geth takes one for
 * nothing. Results have stricter schemas. A property test holds readers and schemas against each other.
 */
const DIGIT = '[0-9a-fA-F]';
const QUANTITY = (digits: number): string => `0[xX](0|[1-9a-fA-F]${DIGIT}{0,${digits - 1}})`;
const text = (pattern: string): JsonSchema => ({ type: 'string', pattern: `^${pattern}$` });

export const anyAddress = text(`0[xX]${DIGIT}{40}`);
export const anyHash = text(`0[xX]${DIGIT}{64}`);
export const anyBytes = text(`(0[xX](${DIGIT}{2})*)?`);
export const anyUint64 = text(`(${QUANTITY(16)})?`);
export const anyUint256 = text(`(${QUANTITY(64)})?`);
/** A place in a list. */
export const anyIndex = text(QUANTITY(16));
export const anySlot = text(`(0[xX])?${DIGIT}{0,64}`);
/** No chain has a block above the largest signed number of 64 bits. */
const anyNumber = text(`0[xX](0|[1-9a-fA-F]${DIGIT}{0,14}|[1-7]${DIGIT}{15})`);

export const anyBound: JsonSchema = {
  anyOf: [{ enum: ['latest', 'pending', 'safe', 'finalized', 'earliest'] }, anyNumber],
};
/** Where something ends that goes on at the head. */
export const openBound: JsonSchema = { anyOf: [{ enum: ['latest', 'pending'] }, anyNumber] };

/** A field that may be left out, or be null. */
export function orNull(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: 'null' }] };
}

/** Fields that may each be left out, or be null. */
export function optionalFields(
  fields: Readonly<Record<string, JsonSchema>>,
): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, orNull(schema)]));
}

const requireCanonical = orNull({ type: 'boolean' });

export const anySelector: JsonSchema = {
  anyOf: [
    anyBound,
    anyHash,
    {
      type: 'object',
      required: ['blockNumber'],
      properties: { blockNumber: anyBound, blockHash: { type: 'null' }, requireCanonical },
    },
    {
      type: 'object',
      required: ['blockHash'],
      properties: { blockHash: anyHash, blockNumber: { type: 'null' }, requireCanonical },
    },
  ],
};
