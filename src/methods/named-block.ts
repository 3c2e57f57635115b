import { type BlockSelector, parseBlockBound } from '../primitives/block-selector.ts';
import { parseHashArgument } from '../primitives/parse.ts';
import type { ParamDoc } from './method.ts';
import { anyBound, anyHash } from './param-schemas.ts';

/** How the first parameter of a method names its block: most come in two kinds. */
export interface NamedBlock {
  readonly param: ParamDoc;
  read(value: unknown): BlockSelector;
}

export const BY_NUMBER: NamedBlock = {
  param: { name: 'block', required: true, description: 'Hex number or tag.', schema: anyBound },
  read: (value) => parseBlockBound(value, 'invalid argument 0'),
};

export const BY_HASH: NamedBlock = {
  param: { name: 'hash', required: true, description: 'The hash of the block.', schema: anyHash },
  read: (value) => ({
    kind: 'hash',
    hash: parseHashArgument(value, 'invalid argument 0'),
    requireCanonical: false,
  }),
};
