import type { Method } from '../method.ts';

export const ethSyncing: Method = {
  name: 'eth_syncing',
  summary: 'Whether the node is still catching up.',
  rules: ['B12'],
  params: [],
  result: {
    name: 'syncing',
    description: 'Always false: a node serves only what it has verified.',
    schema: { type: 'boolean' },
  },
  handle() {
    return 'false';
  },
};
