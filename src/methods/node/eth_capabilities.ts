import { toQuantity } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { hashSchema, quantitySchema } from '../schemas.ts';

const rangeSchema = {
  type: 'object',
  required: ['disabled', 'oldestBlock'],
  properties: {
    disabled: { type: 'boolean' },
    oldestBlock: quantitySchema,
    deleteStrategy: {
      type: 'object',
      required: ['type', 'retentionBlocks'],
      properties: { type: { const: 'window' }, retentionBlocks: quantitySchema },
    },
  },
} as const;
const KINDS = ['state', 'tx', 'logs', 'receipts', 'blocks', 'stateproofs'] as const;

export const ethCapabilities: Method = {
  name: 'eth_capabilities',
  summary: 'What this node can answer for which blocks.',
  rules: ['B2', 'B12'],
  params: [],
  result: {
    name: 'capabilities',
    description:
      'The head, and for each kind of data the oldest block that it is held for; with `--history` in blocks, how many are kept.',
    schema: {
      type: 'object',
      required: ['head', ...KINDS],
      properties: {
        head: { type: 'object', properties: { number: quantitySchema, hash: hashSchema } },
        ...Object.fromEntries(KINDS.map((kind) => [kind, rangeSchema])),
      },
    },
  },
  async handle(_params, { snapshot, settings }) {
    const { head } = snapshot;
    const { keptBlocks } = settings;
    const { blocks, state, transactions } = await snapshot.held();
    const deleteStrategy = keptBlocks && { type: 'window', retentionBlocks: toQuantity(keptBlocks) };
    const from = (oldest: number): object => ({
      disabled: false,
      oldestBlock: toQuantity(oldest),
      ...(deleteStrategy && { deleteStrategy }),
    });
    return JSON.stringify({
      head: { number: toQuantity(head.number), hash: head.hash },
      state: from(state),
      tx: from(transactions),
      logs: from(blocks),
      receipts: from(blocks),
      blocks: from(blocks),
      // From the state where that is complete, else an upstream's, for the same blocks.
      stateproofs: from(state),
    });
  },
};
