import type { Method } from '../method.ts';

export const netListening: Method = {
  name: 'net_listening',
  summary: 'Whether the node takes connections.',
  rules: ['B12'],
  params: [],
  result: { name: 'listening', description: 'True, as it answers.', schema: { type: 'boolean' } },
  handle() {
    return 'true';
  },
};
