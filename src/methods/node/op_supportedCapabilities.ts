import type { Method } from '../method.ts';

export const opSupportedCapabilities: Method = {
  name: 'op_supportedCapabilities',
  summary: 'What this node supports beyond the standard methods.',
  rules: ['B12'],
  params: [],
  result: {
    name: 'capabilities',
    description: 'Names of capabilities.',
    schema: { type: 'array', items: { type: 'string' } },
  },
  handle() {
    return '["flashblocksv1"]';
  },
};
